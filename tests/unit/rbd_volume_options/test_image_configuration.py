# SPDX-License-Identifier: Apache-2.0

from cinder.volume.drivers import rbd

from cinder_rbd_ext.imaging import open_image
from rbd_volume_options import image_configuration
from rbd_volume_options import ownership
from tests.fakes import fake_option
from tests.unit.cinder_rbd_ext import base

_ENTRY = 'conf_rbd_pace_hint'
_OTHERS = {'conf_rbd_cache_size': '1', 'owner': 'somebody'}
_FAST = {fake_option.KEY: fake_option.Pace.FAST}


class ConfigurationTest(base.DriverTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fake_option.FakeOption())
        self.volume = self.made_volume()
        self.metadata = self.cluster.stored(self.volume.name).metadata

    def test_entries_are_set_changed_and_removed(self) -> None:
        self.metadata.update({'conf_rbd_cache': 'false', **_OTHERS})
        with rbd.RBDVolumeProxy(self.driver, self.volume.name) as image:
            open_image.reset(image)
            self.assertIn('setting conf_rbd_cache from', self.log.output)
            image_configuration.change(image, _FAST)
            self.assertEqual(
                _FAST, image_configuration.read_configuration(image)
            )
            self.assertEqual(
                {_ENTRY}, image_configuration.not_inherited(image)
            )
            self.assertEqual({_ENTRY: 'fast', **_OTHERS}, self.metadata)
            image_configuration.change(
                image, {}, image_configuration.families(_FAST)
            )
            self.assertEqual(_OTHERS, self.metadata)
            self.assertEqual(set(), image_configuration.not_inherited(image))

    def test_entry_with_an_unknown_value_is_ignored(self) -> None:
        self.metadata[_ENTRY] = 'huge'
        with rbd.RBDVolumeProxy(self.driver, self.volume.name) as image:
            self.assertEqual({}, image_configuration.read_configuration(image))
            self.assertEqual(
                {_ENTRY}, image_configuration.not_inherited(image)
            )

    def test_only_the_mark_of_an_image_that_was_given_away_is_removed(
        self,
    ) -> None:
        for owner, names in (
            (ownership.RELEASED, {ownership.KEY}),
            ('cloud', set()),
        ):
            self.metadata[ownership.KEY] = ownership.mark(owner, 3, 'abc')
            with rbd.RBDVolumeProxy(self.driver, self.volume.name) as image:
                self.assertEqual(
                    names, image_configuration.not_inherited(image)
                )
