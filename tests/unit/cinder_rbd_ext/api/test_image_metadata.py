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

"""Unit tests of cinder_rbd_ext.api.image_metadata."""

from tests.unit.cinder_rbd_ext.api import base


class ImageMetadataTest(base.ApiTestCase):
    """POST volumes/{id}/action with os-set_image_metadata."""

    def test_what_looks_like_ours(self) -> None:
        path = f'/volumes/{self.volume().id}/action'
        for key in ('rbd:object_size', 'RBD:object_size', 'rbd:x'):
            items = {'os_distro': 'debian', key: '\x1b[31m'}
            body = {'os-set_image_metadata': {'metadata': items}}
            words = 'not allowed in image metadata'
            self.refused(400, words, 'POST', path, body)
        items = {'os_distro': 'debian'}
        body = {'os-set_image_metadata': {'metadata': items}}
        self.assertEqual({'metadata': items}, self.ok('POST', path, body))

    def test_too_long(self) -> None:
        """Cinder itself refuses the name."""
        path = f'/volumes/{self.volume().id}/action'
        items = {'rbd:' + 'x' * 252: 'y'}
        body = {'os-set_image_metadata': {'metadata': items}}
        response = self.call('POST', path, body)
        self.assertEqual(400, response.status_int, response.text)
        self.assertNotIn('not allowed in image', response.text)

    def test_malformed_body_gets_stock_refusal(self) -> None:
        path = f'/volumes/{self.volume().id}/action'
        for asked in (None, {}, {'metadata': None}, {'metadata': {'a': 1}}):
            response = self.call(
                'POST', path, {'os-set_image_metadata': asked}
            )
            self.assertEqual(400, response.status_int, response.text)
