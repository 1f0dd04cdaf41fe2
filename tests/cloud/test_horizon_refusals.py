# SPDX-License-Identifier: Apache-2.0

"""Values that a form of the dashboard refuses, and what remains of them."""

import uuid

import ddt

from tests import runs
from tests.cloud import relay
from tests.cloud import test_handshake
from tests.cloud import volume_form


@ddt.ddt
class RefusedTest(volume_form.FormTestCase):
    """Show refused values in their fields and keep all input."""

    # One case per field; unit tests cover all invalid values.
    @runs.tags(runs.NIGHTLY)
    @ddt.data(
        ({'object_size': '3M'}, 'object_size', 'not a power of two'),
        ({'stripe_unit': '64K'}, 'stripe_unit', 'without rbd:stripe_count'),
        (
            {'stripe_unit': '64K', 'stripe_count': '3'},
            'stripe_count',
            'not a multiple of 64 KiB x 3',
        ),
        ({'object_map': 'maybe'}, 'object_map', 'not a boolean'),
    )
    @ddt.unpack
    def test_bad_value(
        self, values: dict[str, str], field: str, words: str
    ) -> None:
        self.open_form()
        self.fill('#id_name', 'never made')
        self.fill('#id_description', 'kept')
        self.pick('type', 'rbd')
        self.shown_group()
        for name, value in values.items():
            self.force(f'#id_rbd_{name}', value)
        # The script shows the error before the form is sent.
        self.click('#id_name')
        self.assertIn(words, self.error_of(f'rbd_{field}'))
        self.submit_again()
        self.assertIn(words, self.error_of(f'rbd_{field}'))
        self.check_kept()
        self.check_focused(f'id_rbd_{field}')

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


@runs.tags(runs.NIGHTLY)
class KeptTest(volume_form.FormTestCase):
    """The API extension fails after the form was opened."""

    #: The fields, their values, and what a browser shows for them.
    CHOSEN = {
        'object_size': '1M',
        'stripe_unit': '64K',
        'stripe_count': '8',
        'object_map': 'true',
    }

    def check_unchecked(self, name: str) -> None:
        """Check the errors and the values, and that there is no volume."""
        for field, value in self.CHOSEN.items():
            self.assertIn('cannot be checked', self.error_of(f'rbd_{field}'))
            control = self.find(f'#id_rbd_{field}')
            self.assertEqual(value, control.get_property('value'), field)
        self.check_focused('id_rbd_object_size')
        answer = self.request('GET', f'/volumes?name={name}')
        self.assertEqual([], answer['volumes'])

    def test_no_choice_is_dropped(self) -> None:
        name = f'kept-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        for field, value in self.CHOSEN.items():
            if field == 'stripe_count':
                # The server has proposed it.
                self.until_summary('× 8')
            else:
                self.choose_value(f'#id_rbd_{field}', value)
        for fault in (relay.broken, relay.slow):
            relay.forget_offers()
            with self.relay.changed(relay.OFFERS, fault):
                self.submit_again()
            self.check_unchecked(name)
        # The dashboard does not ask again for ten seconds.
        requests = self.relay.count()
        self.submit_again()
        self.assertEqual(requests, self.relay.count())
        self.check_unchecked(name)
        self.screenshot('refused-unchecked')
        relay.forget_offers()
        self.submit()
        self.check_made(self.named(name))


@runs.tags(runs.NIGHTLY)
class LaterTest(volume_form.FormTestCase, test_handshake.ConnectorTestCase):
    """What is refused after Cinder accepted the request."""

    def test_attachment_that_the_host_refuses(self) -> None:
        volume = self.created(
            name='refused', metadata={'rbd:cache_mode': 'writeback'}
        )
        attachment = self.reserve(volume)
        answer = self.connect(attachment)
        self.check_refused_with(volume, answer, 'offers no cache modes')
        self.check_free(volume, attachment)
        self.login('demo')
        tab = 'volume_details__rbd_volume_options'
        self.open(f'/project/volumes/{volume}/?tab={tab}')
        shown = self.text(f'#{tab}')
        self.assertIn('Last attachment', shown)
        self.assertIn('offers no cache modes', shown)
        self.check_accessible(f'#{tab}')
        self.screenshot('refused-later')
        # Cinder's messages to the user are in a tab of Horizon.
        self.open(
            f'/project/volumes/{volume}/?tab=volume_details__messages_tab'
        )
        self.assertIn(
            'offers no cache modes',
            self.text('#volume_details__messages_tab'),
        )
        self.screenshot('refused-later-messages')
        for page in ('attach', 'rbd_options'):
            self.open(f'/project/volumes/{volume}/{page}/')
            self.assertIn('offers no cache modes', self.text('form .alert'))
        self.check_quiet()
