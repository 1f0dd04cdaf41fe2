# SPDX-License-Identifier: Apache-2.0

"""Test the rendering of the fields."""

from django.utils import html

from horizon_volume_opts.type_specs import guide
from horizon_volume_opts.type_specs import widgets
from rbd_volume_options import keys
from tests.unit import base


class PickTestCase(base.TestCase):
    def test_field_and_list_belong_together(self) -> None:
        pick = widgets.Pick([('4MiB', 'four'), ('8MiB', '')])
        text = pick.render('value', '1"', {'id': 'id_value'})
        self.assertIn('list="id_value_suggestions"', text)
        self.assertIn('<datalist id="id_value_suggestions">', text)
        self.assertIn('<option value="4MiB">four</option>', text)
        self.assertIn(html.escape('1"'), text)

    def test_nothing_to_pick_from(self) -> None:
        text = widgets.Pick([]).render('value', '', {'id': 'id_value'})
        self.assertNotIn('list', text)


class KeyPickTestCase(base.TestCase):
    def test_each_key_with_what_is_allowed(self) -> None:
        text = widgets.KeyPick().render('key', '', {'id': 'id_key'})
        for entry in guide.entries().values():
            self.assertIn(f'<option value="{entry.key}">', text)
            self.assertIn(str(entry.summary), text)
            self.assertIn(html.escape(entry.allowed), text)

    def test_help_is_tied_to_the_field(self) -> None:
        text = widgets.KeyPick().render('key', '', {'id': 'id_key'})
        self.assertIn('aria-describedby="id_key_suggestions_help"', text)
        self.assertIn('<div id="id_key_suggestions_help"', text)

    def test_ids_occur_once(self) -> None:
        pick = widgets.KeyPick(data_pools=['a'])
        text = pick.render('key', '', {'id': 'id_key'})
        ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertGreater(len(ids), 3)


class DataPoolsTestCase(base.TestCase):
    """The list of data pools, which may be unknown or empty."""

    def test_of_both_forms(self) -> None:
        entry = guide.entries()[keys.DATA_POOL]
        for pick in (
            widgets.KeyPick(data_pools=['a<b', 'fast']),
            widgets.ValuePick(entry, data_pools=['a<b', 'fast']),
        ):
            text = pick.render('x', '', {'id': 'id_x'})
            self.assertIn('<option>a&lt;b</option>', text)
            self.assertIn(
                '<label class="control-label" for="id_x_pools"', text
            )
            self.assertIn('aria-describedby="id_x_pools_help"', text)
            # Ceph does not say which service uses a pool.
            self.assertIn('Do not use the pool of another service', text)

    def test_no_pool(self) -> None:
        text = widgets.KeyPick(data_pools=[]).render('x', '', {'id': 'id_x'})
        self.assertIn('have no other pool', text)
        self.assertNotIn('<select', text)

    def test_unknown_pools_show_no_list(self) -> None:
        text = widgets.KeyPick().render('x', '', {'id': 'id_x'})
        self.assertNotIn('rbd-data-pools', text)

    def test_only_for_its_key(self) -> None:
        entry = guide.entries()[keys.OBJECT_SIZE]
        pick = widgets.ValuePick(entry, data_pools=['fast'])
        self.assertNotIn('fast', pick.render('x', '', {'id': 'id_x'}))


class ExplainedTestCase(base.TestCase):
    def test_help_is_text_of_the_page(self) -> None:
        field = widgets.Explained('Why & how.', {'class': 'c'})
        text = field.render('x', '1', {'id': 'id_x'})
        self.assertIn('aria-describedby="id_x_help"', text)
        self.assertIn('class="c"', text)
        self.assertIn('id="id_x_help">Why &amp; how.</div>', text)
