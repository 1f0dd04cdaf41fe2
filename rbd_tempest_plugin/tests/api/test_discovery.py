# SPDX-License-Identifier: Apache-2.0

"""What volume types offer."""

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from rbd_tempest_plugin.tests import base
from rbd_volume_options import definitions
from rbd_volume_options import keys

CONF = config.CONF


class DiscoveryTest(base.RBDVolumeTest):
    """The routes of the API extension."""

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('fde8b05c-ddce-4dd7-9465-0c156fc6c33a')
    def test_extension_is_listed(self) -> None:
        """Cinder lists the API extension."""
        listed = self.volumes_extension_client.list_extensions()
        aliases = {each['alias'] for each in listed['extensions']}
        self.assertIn(definitions.ALIAS, aliases)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('bf44d317-da8c-43fa-9020-eeb78acfff8e')
    def test_type_is_shown_by_name_and_id(self) -> None:
        """A type is found by its name and by its id, with all keys."""
        name = self.volume_type['name']
        told = self.options_client.show_options(name)['volume_type']
        self.assertTrue(told['supported'], told)
        self.assertIsNone(told['reason'])
        for key in self.asked:
            self.assertIn(key, told['options'])
            if CONF.rbd_volume_options_feature_enabled.tenant_options:
                self.assertTrue(told['options'][key]['settable'], key)
        again = self.options_client.show_options(self.volume_type['id'])
        self.assertEqual(told, again['volume_type'])

    @decorators.idempotent_id('d2bfaa62-213c-4401-a24d-7a201f9fe60f')
    def test_list_has_the_same_data_as_each_type(self) -> None:
        """The list has the same data as each single type."""
        name = self.volume_type['name']
        told = self.options_client.show_options(name)['volume_type']
        listed = self.options_client.list_options()['volume_types']
        (row,) = (each for each in listed if each['name'] == name)
        self.assertEqual(told, row)

    @decorators.idempotent_id('df8139cf-e340-4a09-b8bd-79f124fafb21')
    def test_default_of_a_type(self) -> None:
        """The value of a type is the default, and the type is its source."""
        name = self.make_type(self.asked)
        told = self.options_client.show_options(name)['volume_type']
        count = told['options'][keys.STRIPE_COUNT]
        self.assertEqual(
            CONF.rbd_volume_options.stripe_count, count['default']
        )
        self.assertIn('type', count['default_from'])

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('c2dfc007-7f0d-483e-9c92-1556179a1ed3')
    def test_no_such_type(self) -> None:
        """A type that does not exist is not found."""
        self.assertRaises(
            exceptions.NotFound,
            self.options_client.show_options,
            data_utils.rand_uuid(),
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('caa56e09-efe5-4583-8a1d-8c6ca1dc54a0')
    def test_private_type_of_others(self) -> None:
        """A type that is not visible to the tenant is not found."""
        made = self.create_volume_type(
            **{'os-volume-type-access:is_public': False}
        )
        self.assertRaises(
            exceptions.NotFound,
            self.options_client.show_options,
            made['id'],
        )
