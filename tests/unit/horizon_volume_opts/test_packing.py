# SPDX-License-Identifier: Apache-2.0

"""The amount of data that pages receive about volume types."""

import json
import re

from django.core import cache
import hypothesis
from hypothesis import strategies

from horizon_volume_opts import packing
from rbd_volume_options import features
from rbd_volume_options import registry
from rbd_volume_options.families import limits as limit_options
from tests.unit import untrusted
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case
from tests.unit.horizon_volume_opts import test_rest

# Bytes: all of our markup in a page, and what each volume type adds.
_FORM = 8500
_TYPE = 300

# As Cinder returns them, with all features.
_FEATURES = {
    'allowed': sorted(features.CHOOSABLE),
    'requires': {
        name: list(features.FEATURES[name].requires)
        for name in sorted(features.CHOOSABLE)
        if features.FEATURES[name].requires
    },
}

_ASK = 'GET /v3/p/os-rbd-volume-options'


class DistinctTestCase(test_rest.RestTestCase):
    def test_equal_values_have_one_number(self) -> None:
        distinct = packing.Distinct()
        numbers = [distinct.number(each) for each in ([1], [2], [1], [True])]
        self.assertEqual([0, 1, 0, 2], numbers)
        self.assertEqual([[1], [2], [True]], distinct.values)


class RangeTestCase(test_rest.RestTestCase):
    def test_form_knows_the_limit_for_each_gib(self) -> None:
        """The range of the limit depends on the size in the form."""
        rules = {'per_gib': 3, 'per_gib_minimum': 100}
        bounds = {'minimum': 100, 'maximum': 10**9, 'type': 'count'}
        self.cloud.types.append(
            fake_cloud.offered('by-size', iops_limit={**bounds, **rules})
        )
        page = self.client.get('/project/volumes/create/').content.decode()
        data = horizon_case.data_of(page, 'data-rbd-offers')
        offer = horizon_case.unpacked(data)['by-size']
        described = offer['options']['rbd:iops_limit']
        self.assertEqual(rules, {key: described[key] for key in rules})


class AttributeTestCase(test_rest.RestTestCase):
    def test_as_a_browser_reads_it(self) -> None:
        """Any text of a type's name is data, not markup."""
        data = {"a'b": ['"', '<!-- </script> &lt; &#39; \\', 'Ümlaut', '`']}
        page = f'<p a="1" data-x={packing.attribute(data)} b>text'
        self.assertEqual(data, horizon_case.data_of(page, 'data-x'))

    @hypothesis.given(
        strategies.dictionaries(untrusted.TEXTS, untrusted.TEXTS)
    )
    def test_any_name_is_data_in_a_page(self, data: dict[str, str]) -> None:
        drawn = packing.attribute(data)
        self.assertNotIn('{$', drawn)
        page = f'<p a="1" data-x={drawn} b>text'
        self.assertEqual(data, horizon_case.data_of(page, 'data-x'))

    def test_angular_evaluates_nothing(self) -> None:
        for name in ('{$ 7*7 $}', '{$$}', '{$', '$}', r'\{$ 7*7 \$}'):
            data = {name: [name]}
            drawn = packing.attribute(data)
            self.assertNotIn('{$', drawn)
            self.assertNotIn('$}', drawn)
            page = f'<p data-x={drawn}>'
            self.assertEqual(data, horizon_case.data_of(page, 'data-x'))

    def test_pages_with_a_type_named_as_an_expression(self) -> None:
        name = '{$ 7*7 $}'
        self.cloud.types.append(fake_cloud.offered(name))
        self.cloud.add_volume('v')
        mode = {'rbd:cache_mode': name}
        self.cloud.add_volume('of it', volume_type=name, metadata=mode)
        self.cloud.servers['s'] = {'id': 's', 'name': 's', 'status': 'ACTIVE'}
        for path, attribute in (
            ('/project/volumes/create/', 'data-rbd-offers'),
            ('/project/volumes/v/retype/', 'data-rbd-effects'),
            ('/project/instances/s/attach_volume/', 'data-rbd-modes'),
        ):
            page = self.client.get(path).content.decode()
            data = horizon_case.data_of(page, attribute)
            self.assertIn(name, json.dumps(data), path)
            drawn = page.partition(f'{attribute}=')[2].partition("}'")[0]
            self.assertNotIn('{$', drawn, path)


class SizeTestCase(test_rest.RestTestCase):
    """Every type has another object size and other allowed keys.

    By default, tenants may set no limits on reads and writes.
    """

    def types(self, count: int) -> None:
        limits = {
            option.name: {'settable': False}
            for option in registry.with_values()
            if option.policy is limit_options.SET_LIMITS
        }
        cache.cache.clear()
        self.cloud.asked.clear()
        self.cloud.types = [
            fake_cloud.offered(
                f'a volume type {number:03d}',
                object_size={
                    'default': 2 ** (12 + number % 14),
                    'maximum_objects': 1 << 24,
                },
                features={'settable': number % 2 == 0, **_FEATURES},
                **limits,
            )
            for number in range(count)
        ]
        # One volume of each type, and one of none of them.
        self.cloud.volumes.clear()
        self.cloud.add_volume('v', volume_type='other')
        for each in self.cloud.types[1:]:
            self.cloud.add_volume(
                f'of {each["name"]}', volume_type=each['name']
            )

    def page(self, path: str, count: int) -> str:
        """Return a page with a number of volume types."""
        self.types(count)
        response = self.client.get(path)
        self.assertEqual(200, response.status_code)
        self.assertEqual(1, self.cloud.asked.count(_ASK))
        return str(response.content.decode())

    def check_markup(self, path: str, begin: str, end: str, name: str) -> None:
        """Check the size of all that we add to a page, with its data."""

        def markup(count: int) -> str:
            page = self.page(path, count)
            # One type of the page is that of the volume.
            data = horizon_case.data_of(page, name)
            listed = data['types'] if 'types' in data else data['volumes']
            self.assertEqual(count, len(listed))
            match = re.search(f'{begin}.*?{end}', page, re.DOTALL)
            return match[0] if match else self.fail(page)

        one, many = (len(markup(count).encode()) for count in (1, 41))
        self.assertLessEqual(one, _FORM + _TYPE)
        self.assertLessEqual((many - one) / 40, _TYPE)

    def test_create_volume(self) -> None:
        self.check_markup(
            '/project/volumes/create/',
            '<fieldset class="rbd-volume-options"',
            'data-rbd-preview.*?</fieldset>',
            'data-rbd-offers',
        )

    def test_attach_volume_of_an_instance(self) -> None:
        self.cloud.servers['s'] = {
            'id': 's',
            'name': 'server',
            'status': 'ACTIVE',
            'image': {'id': 'i'},
        }
        self.check_markup(
            '/project/instances/s/attach_volume/',
            '<fieldset class="rbd-cache-mode"',
            '</fieldset>',
            'data-rbd-modes',
        )

    def test_attach_one_of_many_volumes(self) -> None:
        """200 volumes of 50 types, some shared, some with a mode."""
        self.cloud.servers['s'] = {'id': 's', 'name': 's', 'status': 'ACTIVE'}
        self.types(50)
        for number in range(150):
            name = self.cloud.types[number % 50]['name']
            mode = {'rbd:cache_mode': 'writeback'} if number % 3 else {}
            self.cloud.add_volume(
                f'{number:036d}',
                volume_type=name,
                multiattach=number % 5 == 0,
                metadata=mode,
            )
        self.assertEqual(200, len(self.cloud.volumes))
        page = self.client.get('/project/instances/s/attach_volume/')
        match = re.search(
            '<fieldset class="rbd-cache-mode".*?</fieldset>',
            page.content.decode(),
            re.DOTALL,
        )
        size = len(match[0].encode()) if match else self.fail()
        self.assertLessEqual(size, _FORM)

    def test_change_the_type_with_many_options(self) -> None:
        """Types with other object sizes, half of which allow features."""
        self.types(50)
        page = self.client.get('/project/volumes/v/retype/').content.decode()
        drawn = page.partition('data-rbd-effects=')[2].partition('</div>')[0]
        self.assertLessEqual(len(drawn.encode()), _FORM)

    def test_change_volume_type(self) -> None:
        self.check_markup(
            '/project/volumes/v/retype/',
            '<div class="help-block" data-rbd-note',
            '</div>',
            'data-rbd-effects',
        )

    def test_wizard_answer_stays_small(self) -> None:
        def size(count: int) -> int:
            self.types(count)
            _status, answer = self.ask('/api/rbd_volume_options/types/')
            self.assertEqual(count, len(horizon_case.unpacked(answer)))
            self.assertEqual(1, self.cloud.asked.count(_ASK))
            return len(json.dumps(answer))

        one, many = size(1), size(41)
        self.assertLessEqual(one, _FORM)
        self.assertLessEqual((many - one) / 40, _TYPE)
