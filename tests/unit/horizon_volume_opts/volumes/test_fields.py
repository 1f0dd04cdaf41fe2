# SPDX-License-Identifier: Apache-2.0

"""The fields of the form and their values."""

from html import parser

import ddt
import hypothesis
from hypothesis import strategies

from horizon_volume_opts import refusals
from horizon_volume_opts.volumes import fields
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from tests.unit import base
from tests.unit import untrusted

_ORIGIN = errors.Origin.VOLUME_METADATA


@ddt.ddt
class FieldsTestCase(base.TestCase):
    def test_only_those_that_are_wanted(self) -> None:
        by_name = fields.of_keys([keys.STRIPE_UNIT, keys.CACHE_MODE])
        self.assertEqual(['rbd_stripe_unit'], list(by_name))

    def test_none_is_required_and_each_has_its_words(self) -> None:
        by_name = fields.of_keys(fields.kinds())
        # One key has two fields.
        self.assertEqual(len(fields.kinds()) + 1, len(by_name))
        for name, field in by_name.items():
            self.assertFalse(field.required, name)
            self.assertTrue(field.label, name)
            if name != fields.CHOOSE_FEATURES:
                self.assertTrue(field.help_text, name)

    def test_lists_of_sizes_keep_a_posted_value(self) -> None:
        """The script adds the sizes; an invalid value must not disappear."""
        (field,) = fields.of_keys([keys.OBJECT_SIZE]).values()
        drawn = field.widget.render('rbd_object_size', '3M<')
        self.assertIn('<option value="3M&lt;" selected>', drawn)
        (field,) = fields.of_keys([keys.OBJECT_SIZE]).values()
        drawn = field.widget.render('rbd_object_size', '64K')
        self.assertIn('<option value="64K" selected>64\xa0KiB<', drawn)
        (field,) = fields.of_keys([keys.OBJECT_SIZE]).values()
        drawn = field.widget.render('rbd_object_size', '')
        self.assertEqual(1, drawn.count('<option'))
        self.assertIn('<option value="" selected>', drawn)


class _Elements(parser.HTMLParser):
    """Collects the elements and the values of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.values: set[str | None] = set()
        self.feed(page)

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        self.names.add(tag)
        self.values.add(dict(attrs).get('value'))


class UntrustedTestCase(untrusted.TestCase):
    @hypothesis.given(
        strategies.sampled_from([*fields.kinds()]), untrusted.TEXTS
    )
    def test_any_posted_text_is_a_value_or_refused_and_no_markup(
        self, key: str, text: str
    ) -> None:
        *_, field = fields.of_keys([key]).values()
        page = _Elements(str(field.widget.render('x', [text])))
        self.assertLessEqual(
            page.names, {'select', 'option', 'input', 'div', 'label'}
        )
        if key != keys.FEATURES:
            page = _Elements(str(field.widget.render('x', text)))
            self.assertIn(text, {value or '' for value in page.values})
        data = {fields.name_of(key): text, fields.CHOOSE_FEATURES: True}
        try:
            options.parse(fields.metadata(data), keys.Scope.VOLUME, _ORIGIN)
        except errors.OptionError as error:
            self.assertTrue(refusals.of_error(error).text)


class MetadataTestCase(base.TestCase):
    def test_nothing_chosen(self) -> None:
        data = dict.fromkeys(map(fields.name_of, fields.kinds()), '')
        self.assertEqual({}, fields.metadata({**data, 'rbd_features': []}))
        self.assertEqual({}, fields.metadata({}))

    def test_boxes_without_the_choice_say_nothing(self) -> None:
        self.assertEqual(
            {}, fields.metadata({'rbd_features': ['exclusive-lock']})
        )

    def test_features_have_layering(self) -> None:
        metadata = fields.metadata(
            {
                'rbd_choose_features': True,
                'rbd_features': ['exclusive-lock', 'object-map'],
            }
        )
        self.assertEqual(
            {'rbd:features': 'exclusive-lock,layering,object-map'}, metadata
        )
        options.parse(metadata, keys.Scope.VOLUME, _ORIGIN)

    def test_a_map_that_contradicts_the_features_is_not_dropped(self) -> None:
        metadata = fields.metadata(
            {
                'rbd_choose_features': True,
                'rbd_features': ['exclusive-lock', 'object-map'],
                'rbd_object_map': 'false',
            }
        )
        self.assertRaises(
            errors.OptionError,
            options.parse,
            metadata,
            keys.Scope.VOLUME,
            _ORIGIN,
        )

    def test_as_it_was_typed(self) -> None:
        data = {'rbd_object_size': '3M', 'rbd_stripe_count': ' 8 '}
        self.assertEqual(
            {'rbd:object_size': '3M', 'rbd:stripe_count': '8'},
            fields.metadata(data),
        )
