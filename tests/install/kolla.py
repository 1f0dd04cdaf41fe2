# SPDX-License-Identifier: Apache-2.0

"""Kolla and Kolla-Ansible of a release, with the documented configuration.

They are installed from PyPI. Nothing is built or deployed: Kolla renders its
Dockerfiles, and of Kolla-Ansible's roles only those tasks run that merge
configuration files, into a folder.
"""

import json
import pathlib
import shutil
from typing import Any

import fixtures
import yaml

from sandbox_cloud import state
from sandbox_cloud import venvs
from tests import tree
from tests.install import fresh
from tests.install import pages

_PAGE = 'kolla.rst'
_CONSTRAINTS = tree.ROOT / 'constraints' / 'kolla'
_IMAGES = ('cinder', 'glance', 'nova', 'horizon')
#: The images that these are based on.
_BELOW = ('base', 'openstack-base')
#: The folder in which Kolla-Ansible looks for an operator's files.
_ETC = '/etc/kolla/config/'
#: The file for the images.
_BUILD = '/etc/kolla/kolla-build.conf'
_MERGE = 'merge_configs'
#: The variable with the folder to write to, in /etc by default.
_TARGET = 'node_config_directory'

# Kolla downloads plug-ins when it builds an image, which is not done here.
_PLUGINS = """
import json, sys
from oslo_config import cfg
from kolla.common import config
from kolla.image import kolla_worker
conf = cfg.ConfigOpts()
config.parse(conf, sys.argv[1:], prog='kolla-build')
worker = kolla_worker.KollaWorker(conf)
worker.setup_working_dir()
worker.find_dockerfiles()
worker.create_dockerfiles()
worker.build_image_list()
print(json.dumps({
    image.name: [plugin['source'] for plugin in image.plugins]
    for image in worker.images
}))
"""

# A deployment on one machine with an external Ceph and unused addresses.
_GLOBALS = {
    'network_interface': 'lo',
    'kolla_internal_vip_address': '127.0.0.1',
    # Otherwise a filter of a collection is needed that PyPI does not have.
    'kolla_same_external_internal_vip': True,
    'enable_cinder': True,
    'cinder_backend_ceph': True,
    'glance_backend_ceph': True,
    'nova_backend_ceph': True,
}


class Kolla(fresh.Environment):
    """A virtual environment with Kolla, removed after the test.

    :param release: the release of OpenStack
    """

    def __init__(self, release: str) -> None:
        super().__init__()
        self._constraints = _CONSTRAINTS / f'{release}.txt'

    @property
    def has_ansible(self) -> bool:
        """Whether Kolla-Ansible is available for the release."""
        return '\nkolla-ansible==' in self._constraints.read_text()

    def _setUp(self) -> None:
        self._folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self._folder / 'venv'
        venv = venvs.of_tests(state.releases()[-1], path=self.path)
        venv.make()
        self.site = venv.site
        # The file lists all required packages with their versions.
        install = [str(venv.uv), 'pip', 'install', '--quiet', '--python']
        install += [self.program('python'), '--requirements']
        self.execute(*install, str(self._constraints))
        # Kolla renders all images that it finds, which takes 20 seconds. Older
        # releases have them outside the package.
        places = (self.path / 'share/kolla/docker', self.site / 'kolla/docker')
        (docker,) = (place for place in places if place.exists())
        for folder in docker.iterdir():
            if folder.is_dir() and folder.name not in (*_IMAGES, *_BELOW):
                shutil.rmtree(folder)

    def dockerfiles(self) -> dict[str, str]:
        """Return the Dockerfiles with the documented override, by image."""
        (override,) = pages.blocks(_PAGE, 'jinja')
        path = self._folder / 'override.j2'
        path.write_text(override.text)
        work = self._folder / 'images'
        self.execute(
            'kolla-build',
            '--template-only',
            *('--config-file', str(self._build_configuration())),
            *('--template-override', str(path)),
            *('--work-dir', str(work)),
            *_IMAGES,
        )
        return {
            file.parent.name: file.read_text()
            for file in work.rglob('Dockerfile')
        }

    def _build_configuration(self) -> pathlib.Path:
        (block,) = (x for x in pages.blocks(_PAGE, 'ini') if x.file == _BUILD)
        path = self._folder / 'kolla-build.conf'
        path.write_text(block.text)
        return path

    def plugins(self) -> dict[str, list[str]]:
        """Return the sources of the plug-ins that Kolla adds, by image."""
        work = self._folder / 'plugins'
        work.mkdir()
        shown = self.execute(
            *(self.program('python'), '-c', _PLUGINS, '--template-only'),
            *_IMAGES,
            *('--config-file', str(self._build_configuration())),
            *('--work-dir', str(work)),
        )
        plugins: dict[str, list[str]] = json.loads(shown.splitlines()[-1])
        return plugins

    def merged(self) -> dict[str, pathlib.Path]:
        """Return Kolla-Ansible's files merged with the documented ones.

        The keys are container and name, such as ``cinder-api/cinder.conf``.
        """
        ansible = self.path / 'share' / 'kolla-ansible' / 'ansible'
        place = self._folder / 'deployment'
        for block in pages.blocks(_PAGE, 'ini'):
            if not block.file.startswith(_ETC):
                continue
            file = place / 'config' / block.file.removeprefix(_ETC)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        roles = ('cinder', 'glance', 'nova-cell')
        for role in roles:
            self._role(ansible / 'roles' / role, place / 'roles' / role)
        play = {'hosts': 'localhost', 'roles': list(roles)}
        self._write(place / 'site.yml', [play])
        self._write(place / 'globals.yml', self._globals(place))
        (place / 'group_vars').symlink_to(ansible / 'group_vars')
        passwords = ansible.parent / 'etc_examples/kolla/passwords.yml'
        self.execute(
            'ansible-playbook',
            *('--inventory', str(ansible / 'inventory' / 'all-in-one')),
            *('--extra-vars', f'@{passwords}'),
            *('--extra-vars', f'@{place / "globals.yml"}'),
            str(place / 'site.yml'),
            HOME=str(self._folder),
            ANSIBLE_ACTION_PLUGINS=str(ansible / 'action_plugins'),
            ANSIBLE_FILTER_PLUGINS=str(ansible / 'filter_plugins'),
            ANSIBLE_LIBRARY=str(ansible / 'library'),
            ANSIBLE_ROLES_PATH=str(place / 'roles'),
            LC_ALL='C.UTF-8',
        )
        out = place / 'out'
        return {
            str(path.relative_to(out)): path for path in out.rglob('*.conf')
        }

    def _role(self, role: pathlib.Path, copy: pathlib.Path) -> None:
        """Copy a role, reduced to the tasks that merge files."""
        shutil.copytree(role / 'templates', copy / 'templates')
        for folder in ('defaults', 'vars'):
            if (role / folder).exists():
                shutil.copytree(role / folder, copy / folder)
        tasks = yaml.safe_load((role / 'tasks/config.yml').read_text())
        merging = []
        for task in tasks:
            if _MERGE in task:
                # Its handlers restart containers.
                task.pop('notify', None)
                target = pathlib.PurePath(task[_MERGE]['dest']).parent
                if not str(target).startswith(f'{{{{ {_TARGET} }}}}/'):
                    raise AssertionError(f'{role.name} writes to {target}')
                path = {'path': str(target), 'state': 'directory'}
                kept = ('vars', 'when', 'with_dict')
                with_task = {key: task[key] for key in kept if key in task}
                merging += [{'file': path, **with_task}, task]
        self._write(copy / 'tasks/main.yml', merging)

    def _globals(self, place: pathlib.Path) -> dict[str, Any]:
        (block,) = pages.blocks(_PAGE, 'yaml')
        return {
            **_GLOBALS,
            **yaml.safe_load(block.text),
            'ansible_python_interpreter': self.program('python'),
            'node_custom_config': str(place / 'config'),
            'node_config': str(place / 'out'),
            _TARGET: str(place / 'out'),
        }

    def _write(self, path: pathlib.Path, what: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(what))
