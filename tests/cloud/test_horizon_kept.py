# SPDX-License-Identifier: Apache-2.0

"""What was chosen in a form is honoured or refused, never dropped."""

import json
from urllib import parse
import uuid

from tests import runs
from tests.cloud import relay
from tests.cloud import volume_form

_STATUS = '#rbd_status'
_EXPRESSION = '{$ 7*7 $}'


def _evil(answer: relay.Answer) -> relay.Answer:
    """Add a type that is named like an expression of Angular."""
    body = json.loads(answer.body)
    body['volume_types'].append(
        {'id': 'evil', 'name': _EXPRESSION, 'supported': False, 'reason': 'x'}
    )
    return relay.Answer(200, answer.headers, json.dumps(body).encode())


class KeptTestCase(volume_form.FormTestCase):
    """Base class for these tests."""

    def until_text(self, selector: str, words: str) -> None:
        """Wait until an element shows a text."""
        self.until_true(lambda: words in self.text(selector))


# Jasmine and unit tests have the cases of this module.
@runs.tags(runs.NIGHTLY)
class SourceTest(KeptTestCase):
    """A source that Cinder is slow to return, or does not return."""

    def begin(self) -> str:
        """Choose an object size for a new volume; return its name."""
        name = f'kept-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.choose_value('#id_rbd_object_size', '1M')
        self.pick('volume_source_type', 'volume_source')
        return name

    def chosen(self) -> str:
        """Return the object size that the form would send."""
        field = self.find('#id_rbd_object_size')
        self.assertTrue(field.is_enabled())
        return str(field.get_property('value'))

    def test_choices_survive_a_slow_source(self) -> None:
        source = self.created()
        name = self.begin()
        with self.relay.changed(f'/volumes/{source}', relay.slow):
            self.pick('volume_source', source)
            self.assertEqual('1M', self.chosen())
            self.submit()
            ident = self.named(name)
        self.assertEqual(2**20, self.info(ident)['object_size'])

    def test_choices_survive_a_failing_source(self) -> None:
        source = self.created()
        name = self.begin()
        with self.relay.changed(f'/volumes/{source}', relay.broken):
            self.pick('volume_source', source)
            self.until_text(_STATUS, 'is not available')
            self.assertEqual('1M', self.chosen())
        # The look-up is repeated, because a field changes.
        self.fill('#id_description', 'x')
        self.find('#id_name').click()
        self.until_gone(_STATUS)
        self.submit()
        self.assertEqual(2**20, self.info(self.named(name))['object_size'])


@runs.tags(runs.NIGHTLY)
class TypeTest(KeptTestCase):
    """A type that does not allow what was chosen for another one."""

    def test_marked_and_refused(self) -> None:
        kind = f'strict-{uuid.uuid4().hex[:8]}'
        self.make_type_named(kind, **{'rbd:tenant_options': 'rbd:object_map'})
        relay.forget_offers()
        name = f'never-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.choose_value('#id_rbd_object_size', '1M')
        self.until_summary('1 MiB')
        row = '#id_rbd_object_size_row'
        for chosen, words in ((kind, 'tenants may not'), ('fake', 'no back')):
            self.pick('type', chosen)
            self.until_text(row, words)
            self.check_accessible(volume_form.GROUP)
        self.pick('type', kind)
        self.screenshot('not-allowed')
        self.submit()
        self.assertIn('tenants may not', self.error_of('rbd_object_size'))
        self.check_focused('id_rbd_object_size')
        answer = self.request('GET', f'/volumes?name={name}')
        self.assertEqual([], answer['volumes'])


@runs.tags(runs.NIGHTLY)
class ImageTest(KeptTestCase):
    """The step of the wizard that creates a volume of a Glance image."""

    _FINISH = '.ng-wizard button.finish'

    def setUp(self) -> None:
        super().setUp()
        relay.forget_offers()

    def pick_type(self, name: str) -> None:
        """Select a volume type in another step, and return."""
        self.click_text('.ng-wizard .nav-item a', 'Volume Details')
        # The wizard requests the types.
        types = '[ng-model="createVolumeCtrl.volumeType"]'
        self.until_text(types, name)
        self.choose(types, name)
        self.click_text('.ng-wizard .nav-item a', 'RBD Volume Options')

    def test_what_is_wrong_is_said_as_in_the_other_form(self) -> None:
        kind = f'strict-{uuid.uuid4().hex[:8]}'
        self.make_type_named(kind, **{'rbd:tenant_options': 'rbd:object_map'})
        self.open('/project/images/')
        self.open_image_step()
        self.pick_type('rbd')
        self.shown_group()
        count = '#id_rbd_stripe_count'
        for value in ('0', '1.5'):
            self.fill(count, value)
            self.until_text(f'{count}_error', 'a whole number')
            self.until_true(lambda: not self.find(self._FINISH).is_enabled())
        self.fill(count, '2')
        # A user who is about to complete the pair is not interrupted.
        self.until_gone(f'{count}_error')
        self.fill(count, '')
        self.until_summary('(default)')
        self.choose('#id_rbd_object_size', '1 MiB')
        self.until_summary('1 MiB')
        self.pick_type(kind)
        error = '#id_rbd_object_size_error'
        self.until_text(error, 'tenants may not')
        self.assertFalse(self.find(self._FINISH).is_enabled())
        self.screenshot('image-not-allowed')
        self.click('[name="rbd_choice"][value="default"]')
        self.until_gone(error)
        self.until_true(lambda: self.find(self._FINISH).is_enabled())

    def test_step_without_an_answer(self) -> None:
        self.addCleanup(relay.forget_offers)
        with self.relay.changed(relay.OFFERS, relay.broken):
            self.open('/project/images/')
            self.open_image_step()
        self.until_text('[data-rbd-failed]', 'currently not available')
        self.assertTrue(self.find(self._FINISH).is_enabled())


@runs.tags(runs.NIGHTLY)
class NavigationTest(KeptTestCase):
    """The form in two tabs, after a step back, and without a session."""

    def begin(self, size: str) -> str:
        """Choose an object size for a new volume; return its name."""
        name = f'kept-{uuid.uuid4().hex[:8]}'
        self.open_form()
        self.fill('#id_name', name)
        self.pick('type', 'rbd')
        self.shown_group()
        self.choose_value('#id_rbd_object_size', size)
        return name

    def test_two_tabs(self) -> None:
        first = self.begin('1M')
        tab = self.driver.current_window_handle
        self.driver.switch_to.new_window('tab')
        self.addCleanup(self.driver.switch_to.window, tab)
        self.addCleanup(self.driver.close)
        other = self.driver.current_window_handle
        self.addCleanup(self.driver.switch_to.window, other)
        second = self.begin('2M')
        self.submit()
        ident = self.named(second)
        self.assertEqual(2**21, self.info(ident)['object_size'])
        self.driver.switch_to.window(tab)
        self.submit()
        ident = self.named(first)
        self.assertEqual(2**20, self.info(ident)['object_size'])

    def test_step_back(self) -> None:
        self.begin('')
        self.choose('#id_rbd_object_map', 'No')
        self.until_summary('no object map')
        self.open('/project/volumes/')
        self.driver.back()
        # Browsers decide whether a page keeps its values.
        self.until_summary('(default)')

    def test_session_ends_before_the_form_is_submitted(self) -> None:
        name = self.begin('1M')
        self.session.user = None
        self.driver.delete_cookie('sessionid')
        self.submit_again()
        self.find('#loginBtn')
        answer = self.request('GET', f'/volumes?name={name}')
        self.assertEqual([], answer['volumes'])


@runs.tags(runs.NIGHTLY)
class ExpressionTest(KeptTestCase):
    """Names and texts from Cinder are not evaluated by Angular."""

    def test_nothing_is_evaluated(self) -> None:
        relay.forget_offers()
        self.addCleanup(relay.forget_offers)
        with self.relay.changed(relay.OFFERS, _evil):
            for show in (self.open_form, self.open_modal):
                relay.forget_offers()
                show()
                self.pick('type', 'rbd')
                self.until_summary('(default)')
            _status, text = self.fetch(
                '/api/rbd_volume_options/new-volume/?type='
                + parse.quote(_EXPRESSION)
            )
            self.assertEqual('', json.loads(text)['html'])
        self.check_quiet()
