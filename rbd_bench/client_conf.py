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


"""The ceph.conf of the programs that are measured."""

import pathlib

#: Modes of messages to the cluster, by the names that plans use.
_MESSENGERS = ('ms_client_mode', 'ms_mon_client_mode')


def write(
    folder: pathlib.Path,
    base: pathlib.Path,
    user: str,
    *,
    cache: bool,
    secure: bool,
) -> pathlib.Path:
    """Write a configuration file and return its path.

    The file is a copy of the operator's, with options in the section of the
    user. They override other sections and the options that the monitors store.

    :param base: the configuration file of the operator
    :param cache: whether to enable the cache of librbd. QEMU overrides this.
    :param secure: whether messages are encrypted
    """
    lines = [f'[client.{user}]', f'rbd_cache = {str(cache).lower()}']
    # The operator's file may set either mode.
    mode = 'secure' if secure else 'crc secure'
    lines += [f'{option} = {mode}' for option in _MESSENGERS]
    # The file keeps its name, because Ceph derives the name of the cluster
    # from it.
    name = f'{"cache" if cache else "plain"}-{"secure" if secure else "crc"}'
    path = folder / name / base.name
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        base.read_text().rstrip() + '\n\n' + '\n'.join(lines) + '\n'
    )
    return path
