# SPDX-License-Identifier: Apache-2.0

"""Glance images in several stores, ours and stock, on one or two pools."""

from typing import Any
import uuid

import ddt
import openstack

from tests import runs
from tests.cloud import base
from tests.cloud import images
from tests.cloud.images import BESIDE
from tests.cloud.images import FILES
from tests.cloud.images import OURS
from tests.cloud.images import STOCK


class StoresTestCase(images.ImageTestCase):
    """Copy Glance images between stores."""

    def copy(self, image: Any, store: str) -> Any:
        """Copy a Glance image to a store and wait until it is active there."""
        self.start_import(image, 'copy-image', store, self.operator)
        return self.active(image.id, store)

    def data(self, image: Any, store: str) -> bytes:
        """Return the data of a Glance image from a store."""
        response = self.tenant.image.get(
            f'/images/{image.id}/file', params={'prefer': store}
        )
        self.assertEqual(200, response.status_code, response.text)
        data: bytes = response.content
        return data

    def stores(self, image: Any) -> set[str]:
        """Return the stores of a Glance image, as Glance lists them."""
        shown = self.tenant.image.get(f'/images/{image.id}').json()
        return set(shown['stores'].split(','))


@ddt.ddt
class CopyTest(StoresTestCase):
    """``copy-image``, and the deletion of one copy or of all."""

    @runs.nightly_after(1)
    @ddt.data((FILES, OURS), (OURS, FILES), (STOCK, OURS), (OURS, STOCK))
    @ddt.unpack
    def test_copy_has_layout_of_its_store(
        self, source: str, target: str
    ) -> None:
        image = self.upload(images.content(), source)
        copied = self.copy(image, target)
        for store in (source, target):
            self.check_same(self.data(copied, store))
        if target == OURS:
            self.check_ours(copied)
        elif target == STOCK:
            self.check_stock(copied, STOCK)
        # Only the copy remains.
        self.delete_from(copied, source)
        self.assertEqual({target}, self.stores(copied))
        if source in images.POOLS:
            self.check_gone(copied.id, source)
        self.check_content(copied, images.content())

    def test_removal_of_the_copy(self) -> None:
        image = self.upload(images.content(), STOCK)
        copied = self.copy(image, OURS)
        self.delete_from(copied, OURS)
        self.check_gone(copied.id)
        self.assertEqual({STOCK}, self.stores(copied))
        self.check_content(copied, images.content())

    @runs.nightly_after(1)
    @ddt.data(OURS, STOCK)
    def test_delete_with_several_locations(self, first: str) -> None:
        second = STOCK if first == OURS else OURS
        image = self.upload(images.content(), first)
        self.copy(image, second)
        self.copy(image, FILES)
        self.assertEqual({first, second, FILES}, self.stores(image))
        response = self.tenant.image.delete(f'/images/{image.id}')
        self.assertEqual(204, response.status_code, response.text)
        for store in (first, second):
            self.check_gone(image.id, store)

    def test_delete_with_several_locations_and_children(self) -> None:
        """Delete both copies; move the one with a child to the trash."""
        image = self.upload(images.content())
        self.copy(image, STOCK)
        volume = self.created(imageRef=image.id)
        self.assertEqual('images', self.info(volume)['parent']['pool'])
        response = self.tenant.image.delete(f'/images/{image.id}')
        self.assertEqual(204, response.status_code, response.text)
        for store in (OURS, STOCK):
            self.check_gone(image.id, store)
        self.check_volume(volume)

    @runs.tags(runs.NIGHTLY)
    @ddt.data((OURS, BESIDE), (BESIDE, OURS))
    @ddt.unpack
    def test_copy_on_one_pool(self, source: str, target: str) -> None:
        """Refuse a copy to the same pool; the Glance image is unchanged."""
        image = self.upload(images.content(), source)
        self.start_import(image, 'copy-image', target, self.operator)
        self.until(
            lambda: (
                target
                in self.tenant.image.get(f'/images/{image.id}')
                .json()
                .get('os_glance_failed_import', '')
                .split(',')
            )
        )
        self.assertEqual({source}, self.stores(image))
        self.check_content(image, images.content())


@ddt.ddt
class ImageOfAnotherStoreTest(StoresTestCase):
    """Glance images with an RBD image that another store created."""

    def hand_over(self, image: Any) -> Any:
        """Create a Glance image of our store with another store's RBD image.

        Glance selects the first store of a pool. The functional tests cover
        the opposite case, an RBD image of ours in the stock store.
        """
        shown = self.tenant.image.get(f'/images/{image.id}').json()
        other = self.make()
        response = self.service().image.post(
            f'/images/{other.id}/locations', json={'url': shown['direct_url']}
        )
        self.assertEqual(202, response.status_code, response.text)
        return self.active(other.id)

    def service(self) -> Any:
        """Return the connection of a user with the service role.

        Only a service may set the location of a Glance image.
        """
        identity = self.operator.identity
        name = f'test-{uuid.uuid4().hex[:8]}'
        project = self.tenant.current_project
        user = identity.create_user(name=name, password=name)
        self.addCleanup(identity.delete_user, user)
        for role in ('member', 'service'):
            identity.assign_project_role_to_user(
                project, user, identity.find_role(role)
            )
        config = self.tenant.config.config['auth']
        auth = {**config, 'username': name, 'password': name}
        return openstack.connect(cloud='demo', auth=auth)

    def test_read_and_deleted_by_ours(self) -> None:
        image = self.upload(images.content(), BESIDE)
        handed_over = self.hand_over(image)
        self.check_same(self.data(handed_over, OURS))
        response = self.tenant.image.delete(f'/images/{handed_over.id}')
        self.assertEqual(204, response.status_code, response.text)
        self.check_gone(image.id)

    def test_deleted_by_ours_with_children(self) -> None:
        image = self.upload(images.content(), BESIDE)
        volume = self.created(imageRef=image.id)
        handed_over = self.hand_over(image)
        response = self.tenant.image.delete(f'/images/{handed_over.id}')
        self.assertEqual(204, response.status_code, response.text)
        self.check_gone(image.id)
        self.check_volume(volume)

    @runs.nightly_after(1)
    @ddt.data(OURS, BESIDE, STOCK)
    def test_cloned_by_cinder(self, store: str) -> None:
        image = self.upload(images.content(), store)
        volume = self.created(imageRef=image.id, metadata=base.ASKED)
        info = self.check_made(volume)
        self.assertEqual(
            (images.POOLS[store], image.id, 'snap'),
            tuple(info['parent'][k] for k in ('pool', 'image', 'snapshot')),
        )
        self.check_volume(volume)
