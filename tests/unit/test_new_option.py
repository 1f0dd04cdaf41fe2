# SPDX-License-Identifier: Apache-2.0

"""A definition alone makes an option known to every layer.

The option is defined in :mod:`tests.fakes.fake_option`. No product file names
it. Other tests are about each layer; these fail if a layer has a table of its
own.
"""

import argparse
import json
from typing import Any

import ddt
import jsonschema

from cinder_rbd_ext import policies
from cinder_rbd_ext import record
from cinder_rbd_ext.api import attributes
from rbd_tempest_plugin import schemas
from rbd_volume_options import definitions
from rbd_volume_options import published
from rbd_volume_options import registry
from rbd_volume_tools.client import metadata
from rbd_volume_tools.client import volume_rbd
from tests.fakes import fake_option
from tests.functional.cinder_rbd_ext import creation_paths
from tests.unit import base as unit_base
from tests.unit.cinder_rbd_ext import base
from tests.unit.cinder_rbd_ext.api import base as api_base

_KEY = fake_option.KEY
_ATTRIBUTE = f'{definitions.ALIAS}:pace_hint'
_ENTRY = 'conf_rbd_pace_hint'


class ApiTest(api_base.ApiTestCase):
    """The option in requests to Cinder's API."""

    def setUp(self) -> None:
        self.useFixture(fake_option.FakeOption())
        super().setUp()
        settings = api_base.settings(tenant_options=frozenset({_KEY}))
        self.get_pools.return_value = [api_base.pool('rbd', settings)]

    def _told(self, **how: Any) -> Any:
        answer = self.ok('GET', f'{definitions.ROUTE}/rbd', **how)
        jsonschema.validate(answer, published.response_schema())
        return answer['volume_type']['options'][_KEY]

    def test_request_is_checked(self) -> None:
        self.ok('POST', '/volumes', self.create({_KEY: 'fast'}))
        self.refused(
            400,
            (f"{_KEY} = 'huge'", 'allowed: slow, fast'),
            *('POST', '/volumes', self.create({_KEY: 'huge'})),
        )

    def test_discovery_describes_it(self) -> None:
        told = self._told()
        self.assertEqual('word', told['type'])
        self.assertEqual(['slow', 'fast'], told['allowed'])
        self.assertTrue(told['settable'])
        self.assertFalse(told['fixed_at_creation'])

    def test_default_comes_from_the_volume_type(self) -> None:
        self.set_specs('rbd', rbd__pace_hint='slow')
        told = self._told()
        self.assertEqual('slow', told['default'])
        self.assertEqual('volume type', told['default_from'])

    def test_its_policy_decides_who_may_set_it(self) -> None:
        rule = {rule.name: rule for rule in policies.list_rules()}[
            f'{definitions.POLICY}:set_pace'
        ]
        self.assertEqual(f'Set the pace: {_KEY}.', rule.description)
        told = self._told(app=self.make_app('reader'))
        self.assertFalse(told['settable'])


@ddt.ddt
class DriverTest(base.DriverTestCase):
    """The option in the driver."""

    def setUp(self) -> None:
        self.useFixture(fake_option.FakeOption())
        super().setUp()

    def _entry(self, volume: Any) -> str | None:
        stored = self.cluster.stored(volume.name)
        entry: str | None = stored.metadata.get(_ENTRY)
        return entry

    @ddt.data(*creation_paths.ALL)
    def test_each_way_of_creation_configures_and_records_it(
        self, way: type[creation_paths.Path]
    ) -> None:
        path = way(self, metadata={_KEY: 'fast'})
        path.make()
        self.assertEqual('fast', self._entry(path.volume))
        self.assertEqual('fast', self.recorded(path.volume)[_KEY])

    def test_clone_does_not_inherit_it(self) -> None:
        source = self.made_volume({_KEY: 'fast'})
        clone = self.new_volume(source_volid=source.id)
        self.driver.create_cloned_volume(clone, source)
        self.assertIsNone(self._entry(clone))
        self.assertNotIn(_KEY, self.recorded(clone))

    def test_attribute_shows_what_is_recorded(self) -> None:
        volume = self.made_volume({_KEY: 'slow'})
        volume.admin_metadata = record.items_of(volume.id)
        self.assertEqual('slow', attributes.of_volume(volume)[_ATTRIBUTE])

    def test_option_of_the_back_end_is_the_default(self) -> None:
        driver = self.make_driver(rbd_volume_pace_hint='slow')
        volume = self.new_volume()
        driver.create_volume(volume)
        self.assertEqual('slow', self._entry(volume))
        driver._update_volume_stats()
        self.assertEqual('slow', driver._stats['rbd_volume_pace_hint'])

    def test_invalid_option_of_the_back_end_is_refused(self) -> None:
        self.assertRaises(
            ValueError, self.make_driver, rbd_volume_pace_hint='huge'
        )


class OtherLayersTest(unit_base.TestCase):
    """The option in commands, schemas and definitions for other programs."""

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fake_option.FakeOption())

    def test_command_has_an_argument(self) -> None:
        parser = argparse.ArgumentParser()
        metadata.add_options(parser, registry.changeable())
        self.assertEqual(
            {'rbd:pace_hint': 'fast'},
            metadata.requested(parser.parse_args(['--pace-hint', 'fast'])),
        )
        self.assertIn('How fast the image is', parser.format_help())

    def test_command_shows_it(self) -> None:
        volume = {'metadata': {}, _ATTRIBUTE: 'fast'}
        rows = volume_rbd.rows_of_volume(volume, {'options': {}})
        self.assertIn((_KEY, 'fast'), [row[:2] for row in rows])

    def test_tempest_knows_the_attribute(self) -> None:
        schema = published.attribute_schemas()[_ATTRIBUTE]
        jsonschema.validate('fast', schema)
        jsonschema.validate(None, schema)
        self.assertIn(definitions.ATTRIBUTE_CACHE_MODES, schemas.ATTRIBUTES)

    def test_metadata_definitions_describe_it(self) -> None:
        told = published.metadefs()['properties']['pace_hint']
        self.assertEqual(['slow', 'fast'], told['enum'])
        self.assertIn('can be changed', told['description'])
        self.assertTrue(json.dumps(published.metadefs()))
