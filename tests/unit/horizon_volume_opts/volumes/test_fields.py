# SPDX-License-Identifier: Apache-2.0

"""The fields of the form and their values."""

from horizon_volume_opts.volumes import fields
from rbd_volume_options import keys
from tests.unit import base


class FieldsTestCase(base.TestCase):
    def test_none_is_required_and_each_has_its_words(self) -> None:
        by_name = fields.of_keys(fields.creation_keys())
        self.assertEqual(len(fields.creation_keys()), len(by_name))
        for name, field in by_name.items():
            self.assertFalse(field.required, name)
            self.assertTrue(field.label, name)
            self.assertEqual('.', field.help_text[-1], name)

    def test_lists_of_sizes_keep_a_posted_value(self) -> None:
        """An invalid value must not disappear."""
        for value, words in (
            ('3M<', '<option value="3M&lt;" selected>'),
            ('64K', '<option value="64K" selected>64\xa0KiB<'),
            ('', '<option value="" selected>nothing<'),
        ):
            field = fields.of_key(keys.OBJECT_SIZE, 'nothing', [])
            drawn = field.widget.render('rbd_object_size', value)
            self.assertIn(words, drawn)


class MetadataTestCase(base.TestCase):
    def test_as_it_was_typed(self) -> None:
        data = {'rbd_object_size': '3M', 'rbd_stripe_count': ' 8 '}
        self.assertEqual(
            {'rbd:object_size': '3M', 'rbd:stripe_count': '8'},
            fields.metadata(data),
        )
