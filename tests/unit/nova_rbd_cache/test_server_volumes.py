# SPDX-License-Identifier: Apache-2.0

"""Test how nova-scheduler finds the volumes of a server."""

import contextlib
import types
from typing import Any
from unittest import mock

from nova import context
from nova import objects
from nova.volume import cinder

from nova_rbd_cache import server_volumes
from rbd_volume_options import cache_modes
from tests.unit.nova_rbd_cache import base


def _device(volume: str | None) -> Any:
    return objects.BlockDeviceMapping(
        source_type='volume' if volume else 'image',
        destination_type='volume' if volume else 'local',
        volume_id=volume,
    )


class FindTest(base.NovaTestCase):
    """Mocked queries of Nova's databases; tests/cloud uses real databases."""

    def setUp(self) -> None:
        super().setUp()
        self.user = context.RequestContext('user', 'project')
        self.devices = objects.BlockDeviceMappingList(
            objects=[_device(base.VOLUME_ID), _device(None)]
        )

    def answers(self, kind: Any, name: str, answer: Any) -> None:
        """Mock a query of Nova's objects."""
        patch = mock.patch.object(kind, name, autospec=True)
        patch.start().return_value = answer
        self.addCleanup(patch.stop)

    def map(self, cell: Any) -> None:
        """Map the server to a cell, or to none."""
        mapping = objects.InstanceMapping(cell_mapping=cell)
        self.answers(objects.InstanceMapping, 'get_by_instance_uuid', mapping)

    def test_volumes_of_a_new_server_are_in_its_build_request(self) -> None:
        self.map(None)
        request = objects.BuildRequest(block_device_mappings=self.devices)
        self.answers(objects.BuildRequest, 'get_by_instance_uuid', request)
        self.assertEqual(
            server_volumes.Server(None, (base.VOLUME_ID,)),
            server_volumes.find(self.user, base.SERVER_ID),
        )

    def test_volumes_of_an_existing_server_are_in_its_cell(self) -> None:
        self.map(objects.CellMapping(uuid=objects.CellMapping.CELL0_UUID))
        self.patch(
            context,
            'target_cell',
            lambda user, _cell: contextlib.nullcontext(user),
        )
        server = objects.Instance(host='compute-1')
        self.answers(objects.Instance, 'get_by_uuid', server)
        self.answers(
            objects.BlockDeviceMappingList,
            'get_by_instance_uuid',
            self.devices,
        )
        self.assertEqual(
            server_volumes.Server('compute-1', (base.VOLUME_ID,)),
            server_volumes.find(self.user, base.SERVER_ID),
        )


class RequirementsTest(base.NovaTestCase):
    """Responses of Cinder, as its client returns them."""

    def setUp(self) -> None:
        super().setUp()
        self.asked: list[str] = []
        self.modes: Any = ['writeback']
        client = types.SimpleNamespace(get=self.get)
        self.patch(
            cinder,
            'cinderclient',
            lambda context: types.SimpleNamespace(client=client),
        )

    def get(self, url: str, timeout: int) -> Any:
        """Answer a request for the required cache modes of a volume."""
        self.assertLess(timeout, 60)
        self.asked.append(url)
        answer = {'required_cache_modes': self.modes, 'reason': 'because'}
        return None, {'next_attachment': answer}

    def required(self, *volumes: str) -> list[server_volumes.Requirement]:
        """Return the requirements of volumes."""
        return list(
            server_volumes.requirements(
                context.get_admin_context(), base.SERVER_ID, volumes
            )
        )

    def test_required_modes_come_from_cinder(self) -> None:
        (requirement,) = self.required(base.VOLUME_ID)
        self.assertEqual(base.VOLUME_ID, requirement.volume)
        self.assertEqual({cache_modes.CacheMode.WRITEBACK}, requirement.modes)
        self.assertEqual('because', requirement.reason)
        expected = (
            f'/volumes/{base.VOLUME_ID}/os-rbd-volume-options'
            f'?instance_uuid={base.SERVER_ID}'
        )
        self.assertEqual([expected], self.asked)

    def test_nothing_is_required(self) -> None:
        self.modes = None
        self.assertEqual([], self.required(base.VOLUME_ID))

    def test_no_host_will_do_and_a_mode_of_a_newer_cinder(self) -> None:
        for self.modes in ([], ['newer']):
            (requirement,) = self.required(base.VOLUME_ID)
            self.assertEqual(frozenset(), requirement.modes)

    def test_no_volumes(self) -> None:
        self.assertEqual([], self.required())
        self.assertEqual([], self.asked)
