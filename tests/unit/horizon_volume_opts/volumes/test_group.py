# SPDX-License-Identifier: Apache-2.0

"""A group of fields in a form that a stock template renders."""

from typing import Any

from django import forms
from django.template import loader

from horizon_volume_opts.volumes import fields
from horizon_volume_opts.volumes import group
from rbd_volume_options import keys
from tests.unit import base


class Form(group.GroupedForm, forms.Form):
    name = forms.CharField()
    last = forms.CharField(required=False)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        members = fields.of_keys([keys.STRIPE_UNIT, keys.OBJECT_MAP])
        self.fields.update(members)
        self.group(group.GroupField(members), after='name')


def _drawn(form: forms.Form) -> str:
    drawn: str = loader.render_to_string(
        'horizon/common/_form_fields.html', {'form': form}
    )
    return drawn


class GroupTestCase(base.TestCase):
    def test_stands_at_the_end_if_horizon_renames_the_field(self) -> None:
        form = Form()
        form.group(form.fields.pop(group.NAME), after='renamed')
        names = [bound.name for bound in form.visible_fields()]
        self.assertEqual(['name', 'last', 'rbd_options'], names)

    def test_stock_template_draws_each_member_once(self) -> None:
        drawn = _drawn(Form())
        self.assertEqual(1, drawn.count('name="rbd_stripe_unit"'))
        self.assertLess(drawn.index('id_name'), drawn.index('rbd_stripe'))
        self.assertLess(drawn.index('rbd_stripe'), drawn.index('id_last'))

    def test_labels_and_lines_belong_to_their_controls(self) -> None:
        drawn = _drawn(Form())
        self.assertIn('for="id_rbd_stripe_unit"', drawn)
        self.assertIn('aria-describedby="id_rbd_stripe_unit_hint"', drawn)
        self.assertIn('id="id_rbd_stripe_unit_hint"', drawn)

    def test_errors_belong_to_their_controls(self) -> None:
        form = Form({'name': 'n', 'rbd_stripe_unit': '3K'})
        form.add_error('rbd_stripe_unit', 'not a <power>')
        drawn = _drawn(form)
        self.assertIn('aria-invalid="true"', drawn)
        self.assertIn(
            'aria-describedby="id_rbd_stripe_unit_hint '
            'id_rbd_stripe_unit_error"',
            drawn,
        )
        self.assertIn('id="id_rbd_stripe_unit_error" role="alert"', drawn)
        self.assertIn('not a &lt;power&gt;', drawn)
