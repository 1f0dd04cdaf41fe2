# SPDX-License-Identifier: Apache-2.0

"""Base class for tests of paths, with fake images and mocked programs."""

import pathlib
from typing import Any
from unittest import mock

import fixtures

from rbd_volume_tools.bench import facts
from rbd_volume_tools.bench import fio
from rbd_volume_tools.bench import images
from rbd_volume_tools.bench import plan
from rbd_volume_tools.bench import space
from rbd_volume_tools.bench.paths import surroundings
from tests import feature_bits
from tests.fakes import fake_librbd
from tests.fakes import fake_rados
from tests.unit import base

FIGURES = fio.Figures(10.0, {'bytes_per_second': 1.0})


class PathTestCase(base.TestCase):
    """A test of a path.

    :ivar fio: the mocked function that runs fio
    :ivar said: lines that were shown to the operator
    :cvar mocks_figures: whether figures do not come from a report of fio
    """

    mocks_figures = True

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        conf = self.folder / 'ceph.conf'
        conf.write_text('[global]\n')
        self.cluster = fake_rados.Cluster('volumes')
        client = fake_rados.Rados(self.cluster)
        client.connect()
        librbd = fake_librbd.Librbd(self.cluster)
        ioctx = client.open_ioctx('volumes')
        self.addCleanup(ioctx.close)
        self.said: list[str] = []
        self.around = surroundings.Surroundings(
            surroundings.Target(client, librbd, conf, 'me', 'volumes', 2**30),
            plan.Settings(1, 2, 1, 2**20),
            images.Images(
                librbd,
                ioctx,
                feature_bits.DEFAULT,
                2**30,
                self.folder / images.JOURNAL,
                self.said.append,
            ),
            space.Space(client, 'volumes'),
            self.folder,
            self.said.append,
        )
        self.free = self.replace(facts, 'free', return_value=2**40)
        self.fio = self.replace(fio, 'run', return_value={})
        if self.mocks_figures:
            self.replace(fio, 'figures', return_value=FIGURES)

    def replace(self, owner: Any, name: str, **kwargs: Any) -> Any:
        """Replace an attribute with an autospecced mock until the end."""
        patch = mock.patch.object(owner, name, autospec=True, **kwargs)
        self.addCleanup(patch.stop)
        return patch.start()

    def raw(self) -> pathlib.Path:
        """Return the file for the output of fio."""
        return self.folder / 'fio' / 'raw.json'

    def env_of_last(self) -> dict[str, str]:
        """Return the environment of the last run of fio."""
        env: dict[str, str] = self.fio.call_args[0][1]
        return env
