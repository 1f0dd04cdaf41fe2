# SPDX-License-Identifier: Apache-2.0

"""Values that a form of the dashboard refuses, and what remains of them."""

import uuid

import ddt

from tests.cloud import volume_form


@ddt.ddt
class RefusedTest(volume_form.FormTestCase):
    """Show refused values in their fields and keep all input."""

    def check_kept(self) -> None:
        """Check that the input is kept and that no volume was created."""
        for name, value in (
            ('name', 'never made'),
            ('description', 'kept'),
        ):
            field = self.find(f'#id_{name}')
            self.assertEqual(value, field.get_attribute('value'))
        answer = self.request('GET', '/volumes?name=never made')
        self.assertEqual([], answer['volumes'])

    def test_by_cinder_alone(self) -> None:
        # The type changes after the dashboard has read it.
        name = f'changed-{uuid.uuid4().hex[:8]}'
        self.make_type_named(name)
        self.open_modal()
        self.fill('#id_name', 'never made')
        self.fill('#id_description', 'kept')
        self.pick('type', name)
        self.shown_group()
        self.choose('#id_rbd_object_size', '1 MiB')
        types = self.request('GET', '/types', cloud=self.operator)
        (ident,) = (
            each['id']
            for each in types['volume_types']
            if each['name'] == name
        )
        self.request(
            'POST',
            f'/types/{ident}/extra_specs',
            {'extra_specs': {'rbd:tenant_options': 'rbd:cache_mode'}},
            self.operator,
        )
        self.submit()
        self.assertIn('tenants may not', self.error_of('rbd_object_size'))
        self.check_focused('id_rbd_object_size')
        self.screenshot('refused')
        self.check_kept()
        chosen = self.find('#id_rbd_object_size').get_attribute('value')
        self.assertEqual('1M', chosen)
