# SPDX-License-Identifier: Apache-2.0

"""The objects on the page about Kubernetes, through the CSI plug-in."""

import json
import pathlib
import subprocess
from typing import Any
import uuid

import fixtures
import yaml

from runner import client_programs
from tests import tree
from tests.clients import commands
from tests.cloud import base
from tests.cloud import documented
from tests.cloud import servers
from tests.cloud import test_limits

_PAGE = tree.ROOT / 'doc/source/user/kubernetes.rst'
_REQUEST = tree.ROOT / 'tests/clients/csi_request.py'
_GIB = 2**30
_LAYOUT = (65536, 8)
_CAPABILITY = {
    'mount': {'fsType': 'ext4'},
    'accessMode': {'mode': 'SINGLE_NODE_WRITER'},
}
_ZONE = {'segments': {'topology.cinder.csi.openstack.org/zone': 'nova'}}


class KubernetesTest(servers.ServerTestCase):
    """The test sends what the sidecars of Kubernetes send to the plug-in."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        text = '\n'.join(documented.blocks(_PAGE, 'yaml'))
        documents = [each for each in yaml.safe_load_all(text) if each]
        self.objects = {each['metadata']['name']: each for each in documents}
        self.create_type()
        self.start_plugin()

    def create_type(self) -> None:
        """Create the volume type of the page with its command."""
        (command,) = (
            each
            for each in documented.commands(_PAGE)
            if not each.reason_not_to_run
        )
        text = command.text.replace('backend_name=ceph', 'backend_name=rbd')
        self.addCleanup(self.remove_type)
        commands.run(
            *('bash', '-euc', f'eval "$(tools/sandbox env)"; {text}'),
            cwd=tree.ROOT,
        )

    def remove_type(self) -> None:
        """Remove the volume type, if it exists."""
        storage = self.operator.block_storage
        if kind := storage.find_type('kubernetes'):
            storage.delete_type(kind)

    def start_plugin(self) -> None:
        """Start the plug-in with the file of the page."""
        (text,) = documented.blocks(_PAGE, 'ini')
        identity = self.tenant.identity
        user = self.tenant.current_user_id
        credential = identity.create_application_credential(
            user, f'kubernetes-{uuid.uuid4().hex[:8]}'
        )
        self.addCleanup(
            identity.delete_application_credential, user, credential.id
        )
        for theirs, ours in (
            ('https://keystone.example.com/v3', self.auth_url()),
            ('<ID>', credential.id),
            ('<secret>', credential.secret),
        ):
            self.assertIn(theirs, text)
            text = text.replace(theirs, ours)
        conf, self.socket = self.folder / 'cloud.conf', self.folder / 'csi'
        conf.touch(0o600)
        conf.write_text(text)
        log = (self.folder / 'log').open('w')
        self.addCleanup(log.close)
        plugin = subprocess.Popen(
            [
                str(client_programs.CSI.path),
                f'--endpoint=unix://{self.socket}',
                f'--cloud-config={conf}',
                '--cluster=kubernetes',
                # Nodes are servers; the controller runs anywhere.
                '--provide-node-service=false',
            ],
            stdout=log,
            stderr=log,
        )
        self.addCleanup(plugin.wait)
        self.addCleanup(plugin.terminate)

    def auth_url(self) -> str:
        """Return the address of Keystone."""
        return str(self.tenant.config.get_auth_args()['auth_url'])

    # Requests

    def ask(
        self, method: str, status: int = 0, **values: Any
    ) -> dict[str, Any]:
        """Send a request; return the answer, or the reason of a refusal."""
        said = commands.run(
            client_programs.venv().program('python'),
            str(_REQUEST),
            str(client_programs.CSI.folder),
            str(self.socket),
            method,
            said=json.dumps(values),
            status=status,
        )
        answer: dict[str, Any] = {'refusal': said}
        return answer if status else json.loads(said)

    def provision(
        self, claim: str, source: Any = None, **how: Any
    ) -> dict[str, Any]:
        """Send what external-provisioner sends for a claim."""
        made = self.objects[claim]
        storage_class = self.objects[made['spec']['storageClassName']]
        self.assertEqual(
            'cinder.csi.openstack.org', storage_class['provisioner']
        )
        name = f'pvc-{uuid.uuid4()}'
        size = made['spec']['resources']['requests']['storage']
        topology = {'requisite': [_ZONE], 'preferred': [_ZONE]}
        if source:
            how['volume_content_source'] = source
        return self.ask(
            'CreateVolume',
            name=name,
            capacity_range={'required_bytes': int(size[:-2]) * _GIB},
            volume_capabilities=[_CAPABILITY],
            parameters={
                **storage_class['parameters'],
                'csi.storage.k8s.io/pv/name': name,
                'csi.storage.k8s.io/pvc/name': claim,
                'csi.storage.k8s.io/pvc/namespace': 'default',
            },
            accessibility_requirements=topology,
            **how,
        )

    def provisioned(self, claim: str, source: Any = None) -> str:
        """Return the ID of the volume of a claim when it is available."""
        answer = self.provision(claim, source)
        ident = str(answer['volume']['volumeId'])
        self.addCleanup(self.remove, ident)
        self.wait_for(ident)
        return ident

    def snapshotted(self, volume: str) -> str:
        """Send what external-snapshotter sends; return the snapshot's ID."""
        answer = self.ask(
            'CreateSnapshot',
            name=f'snapshot-{uuid.uuid4()}',
            source_volume_id=volume,
            parameters=self.objects['cinder'].get('parameters', {}),
        )
        ident = str(answer['snapshot']['snapshotId'])
        self.addCleanup(self.remove, ident, 'snapshots')
        self.assertTrue(answer['snapshot']['readyToUse'])
        return ident

    def check(self, volume: str, limit: int) -> None:
        """Check the layout of a volume's RBD image and its limit."""
        info = self.info(volume)
        self.assertEqual(_LAYOUT, (info['stripe_unit'], info['stripe_count']))
        self.assertIn('object-map', info['features'])
        self.assertEqual(
            {'iops_limit': str(limit)}, test_limits.limits_of(volume)
        )

    # Tests

    def test_claims_become_striped_volumes_with_limits(self) -> None:
        volume = self.provisioned('database')
        self.check(volume, 50)
        snapshot = self.snapshotted(volume)
        source = {'snapshot': {'snapshot_id': snapshot}}
        copies = [self.provisioned('database-from-snapshot', source)]
        self.check(copies[0], 50)
        source = {'volume': {'volume_id': volume}}
        copies.append(self.provisioned('database-clone', source))
        self.check(copies[1], 60)
        self.ask(
            'ControllerExpandVolume',
            volume_id=volume,
            capacity_range={'required_bytes': 2 * _GIB},
            volume_capability=_CAPABILITY,
        )
        self.assertEqual(2 * _GIB, self.info(volume)['size'])
        self.check(volume, 60)
        for each in copies:
            self.ask('DeleteVolume', volume_id=each)
        self.ask('DeleteSnapshot', snapshot_id=snapshot)
        self.ask('DeleteVolume', volume_id=volume)
        images = {f'volume-{each}' for each in (volume, *copies)}
        self.until(lambda: not images & set(base.images()))

    def test_disk_of_a_node_has_the_cache_mode_of_the_type(self) -> None:
        node = self.boot()
        volume = self.provisioned('database')
        self.remove_before_volumes(node)
        self.ask(
            'ControllerPublishVolume',
            volume_id=volume,
            node_id=node,
            volume_capability=_CAPABILITY,
        )
        self.assertEqual('writeback', self.cache_mode(node, volume))
        self.ask('ControllerUnpublishVolume', volume_id=volume, node_id=node)
        self.assertEqual('available', self.show(volume)['status'])

    def test_event_of_a_refused_claim_contains_the_reason(self) -> None:
        uneven = self.make_type(rbd_stripe_unit='1M', rbd_stripe_count='3')
        self.objects['striped']['parameters']['type'] = uneven
        answer = self.provision('database', status=1)
        self.assertIn('multiple', answer['refusal'])
