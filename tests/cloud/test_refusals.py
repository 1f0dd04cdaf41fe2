#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What a tenant asks for in vain, and what it is told."""

from tests.cloud import base

# Each kind of bad value has a test of its own at the driver; these see to
# it that a refusal goes all the way through a real Cinder.
_REFUSED = {
    'rbd:stripes': ({'rbd:stripes': '8'}, 'unknown key'),
    'half': ({'rbd:stripe_unit': '64K'}, 'rbd:stripe_count'),
    '3M': ({'rbd:object_size': '3M'}, 'a power of two from 4 KiB to 32 MiB'),
    'map': (
        {'rbd:features': 'layering,object-map'},
        'object-map requires exclusive-lock',
    ),
}


class RefusalTest(base.CloudTestCase):
    """The volume ends in error, the reason is told, no image is left."""

    def _refused(self, expected: str, **values: object) -> None:
        volume = self.create(**values)
        record = self.until(
            lambda: (found := self.show(volume))['status'] == 'error' and found
        )
        # The tenant's own view, with stock Cinder's API.
        answer = self.request('GET', f'/volumes/{volume}')
        metadata = answer['volume'].get('volume_image_metadata', {})
        self.assertIn(
            expected, metadata.get('rbd_volume_options_error', ''), record
        )
        # On no other backend either, which would ignore what was asked.
        for pool in ('volumes', 'volumes2'):
            self.assertNotIn(f'volume-{volume}', base.images(pool))

    def test_bad_values(self) -> None:
        for metadata, expected in _REFUSED.values():
            self._refused(expected, metadata=metadata)

    def test_too_many_objects_for_a_map(self) -> None:
        self._refused(
            '256,000,000',
            size=2048,
            metadata={'rbd:object_size': '4K', 'rbd:object_map': 'true'},
        )

    def test_object_map_on_a_multiattach_type(self) -> None:
        self._refused(
            'multi-attach',
            volume_type='rbd-multiattach',
            metadata={'rbd:object_map': 'true'},
        )

    def test_keys_that_the_backend_keeps_from_tenants(self) -> None:
        self._refused(
            'not for tenants to set', volume_type='rbd2', metadata=base.ASKED
        )
