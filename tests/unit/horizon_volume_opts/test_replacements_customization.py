# SPDX-License-Identifier: Apache-2.0

"""Customization modules of operators, which are loaded after the plug-in."""

import importlib
import sys
from typing import Any

from django.core import signals
from horizon import messages
from openstack_dashboard.api import cinder
from openstack_dashboard.dashboards.project.volumes import forms as stock
from openstack_dashboard.dashboards.project.volumes import tables
from openstack_dashboard.dashboards.project.volumes import views

from horizon_volume_opts import replacements
from horizon_volume_opts.volumes import table
from tests.unit.horizon_volume_opts import horizon_case

_CREATE = '/project/volumes/create/'


class CustomizationTest(horizon_case.HorizonTestCase):
    def setUp(self) -> None:
        super().setUp()
        # What the module changes is restored when the test ends.
        for target, name in (
            (views.CreateView, 'form_class'),
            (cinder, 'volume_create'),
            (tables.VolumesTable._meta, 'row_actions'),
        ):
            self.patch(target, name, getattr(target, name))

    def load(self) -> None:
        """Load the module of the documentation."""
        name = 'tests.unit.horizon_volume_opts.customization'
        sys.modules.pop(name, None)
        importlib.import_module(name)

    def post(self, **data: str) -> Any:
        return self.client.post(_CREATE, {'name': 'n', 'size': '1', **data})

    def made(self) -> Any:
        (volume,) = self.cloud.volumes.values()
        return volume

    def test_form_without_the_type_has_the_options_of_the_default(
        self,
    ) -> None:
        self.load()
        page = self.client.get(_CREATE).content.decode()
        self.assertIn('Layout and features: 4\xa0MiB objects', page)
        response = self.post(rbd_object_size='3M')
        errors = response.context['form'].errors
        self.assertIn('power of two', errors['rbd_object_size'][0])
        self.assertNotIn('type', response.context['form'].fields)

    def test_replaced_request_has_the_selected_options(self) -> None:
        self.load()
        self.check_done(self.post(rbd_object_size='1M'))
        self.assertEqual(
            {'cost_center': '42', 'rbd:object_size': '1M'},
            self.made()['metadata'],
        )

    def test_options_that_are_not_passed_are_reported(self) -> None:
        def create(request: Any, *args: Any, **kwargs: Any) -> Any:
            return cinder.Volume(self.cloud_volume())

        self.patch(cinder, 'volume_create', create)
        shown: list[str] = []
        self.patch(messages, 'error', lambda _, text: shown.append(str(text)))
        self.check_done(self.post())
        words = 'without the selected RBD volume options'
        self.assertNotIn(words, ' '.join(shown))
        self.check_done(self.post(rbd_object_size='1M'))
        self.assertIn(words, ' '.join(shown))

    def cloud_volume(self) -> Any:
        volume = type('Volume', (), {})()
        volume.__dict__.update(self.cloud.add_volume('n'))
        return volume

    def test_another_form_has_our_fields_and_its_own_rules(self) -> None:
        self.load()
        self.assertIn(
            'rbd-volume-options', self.client.get(_CREATE).content.decode()
        )
        response = self.post(name='forbidden', rbd_object_size='3M')
        self.assertEqual(
            {'name', 'rbd_object_size'}, set(response.context['form'].errors)
        )

    def test_actions_that_are_taken_off_stay_away(self) -> None:
        self.load()
        self.cloud.add_volume('v')
        page = self.client.get('/project/volumes/').content.decode()
        self.assertIn('name-of-v', page)
        self.assertNotIn('Extend Volume', page)
        self.assertNotIn('Change RBD Options', page)
        self.assertIn('Change Volume Type', page)

    def test_another_table_is_logged_with_the_action_to_add(self) -> None:
        class Table(tables.VolumesTableBase):
            class Meta:
                name = 'volumes'
                row_actions = (tables.EditVolume,)

        self.patch(views.VolumesView, 'table_class', Table)
        signals.request_started.connect(table.report_replaced)
        self.client.get(_CREATE)
        self.assertIn(
            'has no action horizon_volume_opts.volumes.table.ChangeOptions',
            self.log.output,
        )

    def test_form_that_cannot_be_extended_is_left_alone(self) -> None:
        # A base after what inherits from it is not possible.
        form_class = type('Form', (stock.CreateForm,), {})
        mixin = stock.CreateForm.__base__
        self.assertIs(form_class, replacements._extended(form_class, mixin))
        other = type('Other', (), {'__slots__': ('a',)})
        slotted = type('Slotted', (int,), {})
        self.assertIs(slotted, replacements._extended(slotted, other))
        self.assertIn('cannot be extended', self.log.output)
