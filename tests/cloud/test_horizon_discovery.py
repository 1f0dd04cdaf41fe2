# SPDX-License-Identifier: Apache-2.0

"""What the dashboard knows about volume types, for whom, and at what cost."""

import json
import uuid

from tests import runs
from tests.cloud import base
from tests.cloud import relay
from tests.cloud import volume_form

_CREATE = '/project/volumes/create/'
_GROUP = '/api/rbd_volume_options/new-volume/'
# Bytes: all of our markup in a page, with any number of volume types.
_FORM = 3000


@runs.tags(runs.NIGHTLY)
class ScopeTest(volume_form.FormTestCase):
    """Offers are cached for a scope."""

    def other_project(self) -> str:
        """Create another project of the user; return its ID."""
        identity = self.operator.identity
        project = identity.create_project(name=f'test-{uuid.uuid4().hex[:8]}')
        self.addCleanup(identity.delete_project, project)
        identity.assign_project_role_to_user(
            project,
            self.tenant.current_user_id,
            identity.find_role('member'),
        )
        return str(project.id)

    def private_type(self) -> str:
        """Create a type for the project of the user; return its name."""
        name = f'private-{uuid.uuid4().hex[:8]}'
        values = {'name': name, 'os-volume-type-access:is_public': False}
        specs = {'volume_backend_name': 'rbd'}
        made = self.request(
            'POST',
            '/types',
            {'volume_type': {**values, 'extra_specs': specs}},
            self.operator,
        )
        path = f'/types/{made["volume_type"]["id"]}'
        self.addCleanup(self.operator.block_storage.delete, path)
        access = {'project': self.tenant.current_project_id}
        self.request(
            'POST',
            f'{path}/action',
            {'addProjectAccess': access},
            self.operator,
        )
        return name

    def test_another_project_gets_its_own(self) -> None:
        name, project = self.private_type(), self.other_project()
        self.open_form()
        self.pick('type', name)
        self.shown_group()
        # The user of the session is no longer that of the next test.
        self.session.user = None
        self.open(f'/auth/switch/{project}/?next={_CREATE}')
        self.find('#id_name')
        self.pick('type', 'rbd')
        self.shown_group()
        self.assertNotIn(name, self.driver.page_source)


class AnswerTest(volume_form.FormTestCase):
    @runs.tags(runs.NIGHTLY)
    def test_invalid_answer_for_a_type(self) -> None:
        name = f'invalid-{uuid.uuid4().hex[:8]}'
        self.make_type_named(name)
        change = relay.without(name, 'rbd:stripe_unit', 'settable')
        relay.forget_offers()
        self.addCleanup(relay.forget_offers)
        with self.relay.changed(relay.OFFERS, change):
            self.open_form()
        self.pick('type', name)
        self.until_gone(volume_form.GROUP)
        self.pick('type', 'rbd')
        self.shown_group()
        self.find('#id_rbd_object_size')
        self.check_quiet()

    def test_lists_of_cinder_are_no_sources_and_pages_are_light(self) -> None:
        volume = self.created(metadata=dict(base.ASKED))
        self.open('/project/volumes/')
        for ident, words in (
            (volume, 'same as the source'),
            # Cinder has lists at these addresses.
            ('detail', 'not available'),
            ('summary', 'not available'),
        ):
            status, text = self.fetch(f'{_GROUP}?volume_source={ident}')
            self.assertEqual(200, status, text)
            self.assertIn(words, json.loads(text)['html'])
        for page in (_CREATE, f'/project/volumes/{volume}/retype/'):
            self.check_cost(page)

    def check_cost(self, page: str) -> None:
        """Check the requests for a page, and the size of what is ours in it.

        The page is read with and without the API extension. Without it, the
        form is the stock form.
        """
        sizes = []
        for change in (lambda answer: answer, relay.absent):
            relay.forget_offers()
            before = self.relay.count()
            with self.relay.changed(relay.OFFERS, change):
                status, text = self.fetch(page)
            self.assertEqual(200, status, page)
            self.assertEqual(1, self.relay.count() - before, page)
            sizes.append(len(text.encode()))
        relay.forget_offers()
        ours = sizes[0] - sizes[1]
        self.assertGreater(ours, 0, page)
        self.assertLessEqual(ours, _FORM, page)
