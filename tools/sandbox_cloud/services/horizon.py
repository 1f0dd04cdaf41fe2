# SPDX-License-Identifier: Apache-2.0

"""Horizon: the dashboard, with our plug-in enabled."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
from typing import ClassVar

from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program

URL = 'http://127.0.0.1:8000/'
_SETTINGS = 'openstack_dashboard.settings'
_PLUGIN = 'horizon_volume_opts'


class Horizon(Service):
    """The dashboard behind uWSGI, which also serves its static files."""

    name: ClassVar[str] = 'horizon'
    ports: ClassVar[tuple[int, ...]] = (8000,)
    health: ClassVar[str | None] = '/auth/login/'
    # No other services: it finds them in the catalog when a user logs in. Its
    # initialisation takes longest and runs in parallel with the schemas.
    requires: ClassVar[tuple[str, ...]] = ('memcached',)
    distributions: ClassVar[tuple[str, ...]] = ('horizon',)

    @property
    def settings(self) -> pathlib.Path:
        """The settings that differ from its defaults.

        Horizon imports this file as ``local.local_settings`` from Python's
        path.
        """
        return self.etc / 'local' / 'local_settings.py'

    @property
    def enabled(self) -> pathlib.Path:
        """The folder of the operator's enabled files."""
        return self.etc / 'enabled'

    @property
    def static(self) -> pathlib.Path:
        """Static files, next to their sources so that they survive a run."""
        return self.runtime.venv.path / 'horizon-static'

    @property
    def _environ(self) -> dict[str, str]:
        return {
            'DJANGO_SETTINGS_MODULE': _SETTINGS,
            'PYTHONPATH': str(self.etc),
        }

    def render(self) -> None:
        """Write its settings and enable the plug-in."""
        self.runtime.render(
            'local_settings.py',
            self.settings,
            enabled=self.enabled,
            static=self.static,
            audit_report=self.state.run / 'rbd-audit.json',
            memcached=self.services['memcached'].ports[0],
        )
        (self.settings.parent / '__init__.py').touch()
        # Links to the files of the wheel, as an operator creates them.
        shutil.rmtree(self.enabled, ignore_errors=True)
        self.enabled.mkdir()
        for path in self._plugin().glob('enabled/_[0-9]*.py'):
            (self.enabled / path.name).symlink_to(path)
        self.render_uwsgi('openstack_dashboard.wsgi', static=self.static)

    def _plugin(self) -> pathlib.Path:
        return self.runtime.venv.site / _PLUGIN

    def programs(self) -> tuple[Program, ...]:
        """Return the dashboard."""
        return (
            self.uwsgi(
                self._environ,
                (self.settings,),
                loads_suite=True,
                name='horizon',
            ),
        )

    def initialise(self) -> None:
        """Collect and compress static files, unless they are current."""
        wanted = self._state_of_static()
        stamp = self.static / 'made-of.sha256'
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.static, ignore_errors=True)
        self._admin('collectstatic', '--noinput')
        self._admin('compress', '--force')
        stamp.write_text(wanted)

    def _admin(self, *arguments: str) -> None:
        program = self.runtime.venv.program('django-admin')
        self.runtime.execute(
            'horizon-static', program, *arguments, **self._environ
        )

    def _state_of_static(self) -> str:
        """Return a checksum of all sources of static files."""
        digest = hashlib.sha256(self.runtime.venv.stamp.read_bytes())
        # The secret differs in each run.
        settings = self.settings.read_text()
        secret = self.state.secret('horizon')
        digest.update(settings.replace(secret, '').encode())
        plugin = self._plugin()
        for path in sorted(plugin.rglob('*')):
            if path.is_file() and '__pycache__' not in path.parts:
                digest.update(f'{path.relative_to(plugin)}\0'.encode())
                digest.update(path.read_bytes())
        return digest.hexdigest()
