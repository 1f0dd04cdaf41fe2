# SPDX-License-Identifier: Apache-2.0

"""The forms that attach a volume, with a cache mode."""

from tests import runs
from tests.cloud import relay
from tests.cloud import servers
from tests.cloud import volume_form

_FIELD = 'rbd_cache_mode'
_MODE = f'#id_{_FIELD}'
_MODES = ['', 'none', 'writethrough', 'writeback', 'directsync']


class AttachTest(volume_form.FormTestCase, servers.ServerTestCase):
    """One server for the forms of the volume and of the instance."""

    def refused_and_kept(self, volume: str, mode: str) -> None:
        """Submit the form while the API extension fails, then without.

        The mode that was selected must not be replaced by the default of the
        host.
        """
        self.choose_value(_MODE, mode)
        relay.forget_offers()
        with self.relay.changed(relay.OFFERS, relay.broken):
            self.submit_again()
        self.assertIn('cannot be checked', self.error_of(_FIELD))
        self.assertEqual(mode, self.find(_MODE).get_property('value'))
        self.check_focused(f'id_{_FIELD}')
        self.assertEqual({}, self.metadata(volume))
        self.assertEqual('available', self.show(volume)['status'])
        relay.forget_offers()
        self.submit()
        self.wait_for(volume, 'in-use')

    def test_both_forms(self) -> None:
        server = self.boot()
        first, second = (
            self.created(name=f'{name} to attach')
            for name in ('first', 'second')
        )
        self.remove_before_volumes(server)
        self.from_the_volume(server, first)
        self.from_the_instance(server, second)

    def from_the_volume(self, server: str, volume: str) -> None:
        """Attach a volume in *Manage Attachments*."""
        self.open(f'/project/volumes/{volume}/attach/')
        self.pick('instance', server)
        modes = [
            option.get_attribute('value')
            for option in self.all(f'{_MODE} option')
        ]
        self.assertEqual(_MODES, modes)
        self.choose_value(_MODE, 'writeback')
        self.whole_screenshot('attach-volume', 'form#attach_volume_form')
        self.refused_and_kept(volume, 'directsync')
        self.assertEqual('directsync', self.cache_mode(server, volume))
        self.open(
            f'/project/volumes/{volume}/'
            '?tab=volume_details__rbd_volume_options'
        )
        shown = self.text('#volume_details__rbd_volume_options')
        self.assertIn('directsync', shown)

    def from_the_instance(self, server: str, volume: str) -> None:
        """Attach a volume in *Attach Volume* of the instance."""

        def prepare() -> None:
            self.pick('volume', volume)
            self.find(_MODE)

        page = f'/project/instances/{server}/attach_volume/'
        self.check_everywhere(
            page, volume_form.GROUP, prepare, 'attach-of-instance'
        )
        self.choose_value(_MODE, 'writeback')
        self.screenshot('attach-volume-of-instance')
        self.refused_and_kept(volume, 'writeback')
        self.assertEqual('writeback', self.cache_mode(server, volume))


@runs.tags(runs.RELEASES)
class SharedTest(volume_form.FormTestCase):
    def test_nothing_for_a_volume_without_a_choice(self) -> None:
        volume = self.created(volume_type='rbd-multiattach')
        self.open(f'/project/volumes/{volume}/attach/')
        # Horizon hides the list itself behind a button.
        self.find('.themable-select:has(> select[name="instance"]) button')
        self.assertEqual([], self.all('[name^="rbd_"], [data-rbd-note]'))
