# SPDX-License-Identifier: Apache-2.0


from cinder_rbd_ext.imaging import delegate
from tests.unit import base


class _Wrapped:
    name = 'image'


class DelegateTest(base.TestCase):
    def test_passed_through(self) -> None:
        found = delegate.Delegate(_Wrapped())
        self.assertEqual('image', found.name)
        self.assertRaises(AttributeError, getattr, found, 'other')
