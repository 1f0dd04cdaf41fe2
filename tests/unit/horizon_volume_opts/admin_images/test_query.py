# SPDX-License-Identifier: Apache-2.0

"""Filter and page."""

from urllib import parse

import ddt
import hypothesis
from hypothesis import strategies

from horizon_volume_opts.admin_images import images
from horizon_volume_opts.admin_images import query
from rbd_volume_options import layout
from tests.unit import untrusted

_State = images.MapState
_SMALL = layout.ImageLayout.from_numbers(1 << 20, 1 << 16, 8)
_LARGE = layout.ImageLayout.from_numbers(8 << 20, 8 << 20, 1)
_IMAGES = [
    images.Image(
        'h@a#p',
        'gold',
        _State.INVALID,
        _SMALL,
        'ec',
        'id-a',
        'Alpha',
        'p1',
        3,
        findings=('object-map-invalid',),
    ),
    images.Image('h@b#p', '', _State.NONE, _LARGE, ident='id-b', name='beta'),
    images.Image('h@b#p', 'gold', _State.UNKNOWN, ident='id-c', project='p2'),
]
_PROJECTS = {'p1': 'zeta', 'p2': 'demo'}


@ddt.ddt
class QueryTestCase(untrusted.TestCase):
    @hypothesis.given(
        strategies.dictionaries(
            strategies.sampled_from(('q', 'page', *query.FILTERS)),
            # Django replaces what is not UTF-8.
            untrusted.TEXTS.map(lambda x: x.replace('\ud800', '\ufffd'))
            | strategies.sampled_from(('map', '7', 'any', '\u00b2')),
        )
    )
    def test_any_address_is_a_query_with_the_same_address(
        self, parameters: dict[str, str]
    ) -> None:
        terms = query.Query.of(parameters)
        again = dict(parse.parse_qsl(terms.address()))
        self.assertEqual(terms, query.Query.of(again))
        self.assertLessEqual(len(terms.select(_IMAGES, _PROJECTS)), 3)

    def selected(self, address: str) -> str:
        values = dict(parse.parse_qsl(address))
        selected = query.Query.of(values).select(_IMAGES, _PROJECTS)
        return ''.join(each.ident[-1] for each in selected)

    @ddt.data(
        ('', 'abc'),
        ('q=ALPHA', 'a'),
        ('q=id-b', 'b'),
        ('q=demo', 'c'),
        ('map=none', 'b'),
        ('type=gold', 'ac'),
        ('finding=any', 'a'),
        ('finding=object-map-invalid', 'a'),
        ('finding=ghost', ''),
        # Unknown parameters and values are ignored.
        ('sort=size&page=x&secret=1', 'abc'),
    )
    @ddt.unpack
    def test_query_filters(self, address: str, expected: str) -> None:
        self.assertEqual(expected, self.selected(address))

    @ddt.data(('3', 3), ('0', 1), ('-1', 1), ('9' * 99, 1), ('\u00b2', 1))
    @ddt.unpack
    def test_invalid_page_is_the_first(self, text: str, expected: int) -> None:
        self.assertEqual(expected, query.Query.of({'page': text}).page)

    def test_address_keeps_filters(self) -> None:
        address = 'q=a+%26&map=none&page=2'
        parsed = query.Query.of(dict(parse.parse_qsl(address)))
        self.assertEqual(address, parsed.address())

    def test_choices_come_from_the_images(self) -> None:
        choices = query.choices(_IMAGES)
        self.assertEqual(['gold'], choices['type'])
        self.assertEqual(['object-map-invalid'], choices['finding'])

    def test_ten_thousand(self) -> None:
        many = _IMAGES * 3334
        selected = query.Query.of({'type': 'gold'}).select(many, _PROJECTS)
        self.assertEqual(6668, len(selected))
