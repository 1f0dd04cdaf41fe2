# SPDX-License-Identifier: Apache-2.0

"""Image features, especially the object map."""

from tempest import config
from tempest.lib import decorators

from rbd_tempest_plugin.tests import base
from rbd_volume_options import keys

CONF = config.CONF


class FeaturesTest(base.RBDVolumeTest):
    """Volumes have the requested features."""

    def _features(self, metadata: dict[str, str]) -> set[str]:
        return set(self.attributes(self.create_asking(metadata))['features'])

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('61679d52-0ebd-41e9-af64-0e4f89afa2c0')
    def test_object_map(self) -> None:
        """An object map enables its prerequisites and fast-diff."""
        names = self._features({keys.OBJECT_MAP: 'true'})
        self.assertLessEqual(
            {'exclusive-lock', 'object-map', 'fast-diff'}, names
        )

    @decorators.idempotent_id('545c70b8-4209-47ee-b609-716b8b404303')
    def test_no_object_map(self) -> None:
        """A volume without an object map has no fast-diff."""
        names = self._features({keys.OBJECT_MAP: 'false'})
        self.assertEqual(set(), names & {'object-map', 'fast-diff'})

    @decorators.idempotent_id('3387b73d-30be-4e21-8339-6b1ab45c4413')
    def test_whole_set(self) -> None:
        """rbd:features is the complete set."""
        wanted = {'layering', 'exclusive-lock', 'deep-flatten'}
        names = self._features({keys.FEATURES: ','.join(sorted(wanted))})
        self.assertEqual(wanted, names)

    @decorators.idempotent_id('95cdbcc0-dbc1-4c6f-9c88-d582dd6e93cd')
    def test_clone_has_the_features_of_its_source(self) -> None:
        """A clone has its source's features by default."""
        source = self.create_asking({keys.FEATURES: 'layering'})
        shown = self.volumes_client.show_volume(source)['volume']
        clone = self.create_volume(
            source_volid=source, volume_type=shown['volume_type']
        )
        self.assertEqual(
            ['layering'], self.attributes(clone['id'])['features']
        )

    @decorators.idempotent_id('14001a5c-5292-4c15-8485-4b35dcf48cfe')
    def test_clone_with_an_object_map(self) -> None:
        """A clone can have an object map if its source has none."""
        plain = self.make_type({keys.FEATURES: 'layering'})
        source = self.create_volume(volume_type=plain)
        clone = self.create_asking(
            {keys.OBJECT_MAP: 'true'}, source_volid=source['id']
        )
        self.assertIn('object-map', self.attributes(clone)['features'])
