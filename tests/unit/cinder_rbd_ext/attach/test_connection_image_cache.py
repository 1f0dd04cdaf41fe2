# SPDX-License-Identifier: Apache-2.0


import ddt

from cinder_rbd_ext.attach import connection
from rbd_volume_options import agreement
from rbd_volume_options import cache_modes
from rbd_volume_options import errors
from tests.unit import base
from tests.unit.rbd_volume_options import test_image_handles

CacheMode = cache_modes.CacheMode
_ASKED = agreement.Asked(CacheMode.WRITEBACK, errors.Origin.VOLUME_METADATA)


@ddt.ddt
class CacheOverrideTest(test_image_handles.ImagesTestCase):
    @ddt.data(
        ('true', True),
        ('FALSE', False),
        ('1', True),
        ('0', False),
        ('10', True),
        ('-1', True),
    )
    @ddt.unpack
    def test_reads_setting_of_image(self, value: str, cached: bool) -> None:
        image = self.image()
        self.assertIsNone(connection.cache_of_image(image))
        image.metadata_set('conf_rbd_cache', value)
        self.assertIs(cached, connection.cache_of_image(image))

    def test_found_on_the_pool(self) -> None:
        self.cluster.pools['volumes'].config['rbd_cache'] = 'false'
        image = self.image()
        self.assertIs(False, connection.cache_of_image(image))
        image.metadata_set('conf_rbd_cache', 'true')
        self.assertIs(True, connection.cache_of_image(image))


@ddt.ddt
class OverrideTest(base.TestCase):
    @ddt.data(*CacheMode)
    def test_contradicting_setting_is_refused_for_each_mode(
        self, mode: CacheMode
    ) -> None:
        wanted = agreement.Asked(mode, errors.Origin.VOLUME_TYPE)
        agreement.check_cache(wanted, None)
        agreement.check_cache(wanted, mode.uses_rbd_cache)
        error = self.assertRaises(
            errors.OptionError,
            agreement.check_cache,
            wanted,
            not mode.uses_rbd_cache,
        )
        self.assertIn('conf_rbd_cache = ', str(error))
        self.assertNotIn(mode.value, error.allowed.split(';')[0].split(', '))

    def test_room_for_the_longest(self) -> None:
        """The field that tenants read holds 255 characters."""
        longest = agreement.Asked(
            CacheMode.WRITETHROUGH, errors.Origin.BACKEND
        )
        everything = frozenset(CacheMode) - {longest.mode}
        for check, found in (
            (agreement.check_offered, None),
            (agreement.check_offered, everything),
            (agreement.check_cache, False),
        ):
            error = self.assertRaises(
                errors.OptionError, check, longest, found
            )
            self.assertLess(len(str(error)), 256)

    def test_refusal_names_setting_and_allowed_modes(self) -> None:
        error = self.assertRaises(
            errors.OptionError, agreement.check_cache, _ASKED, False
        )
        self.assertEqual(
            "rbd:cache_mode = 'writeback' (volume metadata): conf_rbd_cache = "
            'false, set on the RBD image or its pool, overrides it; allowed: '
            'none, directsync, or remove the setting',
            str(error),
        )
