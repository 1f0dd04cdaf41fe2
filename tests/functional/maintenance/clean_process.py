# SPDX-License-Identifier: Apache-2.0

"""Plans or applies a plan in a process that a test kills.

Usage: clean_process CONF FOLDER CLOUD-ID VOLUME plan | apply
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import datetime
import pathlib
import sys
import threading
from typing import Any

import rados
import rbd

from rbd_volume_tools.audit import changes as run
from rbd_volume_tools.audit import names
from rbd_volume_tools.audit import records
from rbd_volume_tools.audit import run as audit
from rbd_volume_tools.audit import scan
from rbd_volume_tools.clean import evidence
from rbd_volume_tools.clean import removal
from rbd_volume_tools.command_line import databases
from rbd_volume_tools.command_line import journal
from rbd_volume_tools.command_line import outcomes
from rbd_volume_tools.command_line import pace
from rbd_volume_tools.command_line import plan_file

# No journal has an entry since then: each change is made again.
_NEVER = datetime.datetime(9999, 1, 1, tzinfo=datetime.timezone.utc)
_DELAY = datetime.timedelta(days=1)


class Cloud:
    """A cloud with one volume, which has deleted all servers that are named.

    :param folder: folder with the file ``deleted``, as old as the deletion
    """

    def __init__(self, folder: str) -> None:
        time = pathlib.Path(folder, 'deleted').stat().st_mtime
        self.deleted = datetime.datetime.fromtimestamp(
            time, datetime.timezone.utc
        )

    def has_record(self, owner: names.Owner, ident: str) -> bool:
        """Return that the cloud has no other resource."""
        return False

    def volume(self, ident: str) -> records.Volume | None:
        """Return no other volume."""
        return None

    def server_deleted(self, ident: str) -> datetime.datetime | None:
        """Return when the server was deleted."""
        return self.deleted


def applied(
    header: plan_file.Header,
    items: Sequence[outcomes.Outcome],
    sources: evidence.Sources,
    path: pathlib.Path,
    **how: Any,
) -> Iterator[outcomes.Outcome]:
    """Make the removals of a plan.

    :param path: of the journal
    """
    stop = threading.Event()
    with journal.Journal(path, 'clean apply', 'fsid') as written:
        work = run.Run(
            *(header, items, None, sources.cluster, written),
            *(pace.Pace(stop), stop, lambda text: None),
            **how,
        )
        yield from work.made(
            lambda item, ioctx, ours: removal.Removal(
                sources, item, ioctx
            ).make(ours),
            work.chosen(None),
            lambda *where: None,
        )


def show(results: Iterable[outcomes.Outcome]) -> None:
    """Print results, which a failed test shows."""
    for each in results:
        print(each.status.value, each.image, each.detail, flush=True)


def main(conf: str, folder: str, cloud: str, volume: str, what: str) -> None:
    """Run a step."""
    cluster = scan.Cluster(rados, rbd, conf, 'admin')
    backend = 'host@rbd#rbd'
    known = records.Records(
        {
            volume: records.Volume(
                volume, volume, 'project', 'type', backend, 'available'
            )
        },
        frozenset(),
        frozenset(),
        {backend: 'volumes'},
        servers=frozenset(),
        cloud_id=cloud,
    )
    services: Any = Cloud(folder)
    sources = evidence.Sources(
        *(cluster, known, services, databases.Databases()),
        *(_DELAY, datetime.timedelta()),
    )
    plan = pathlib.Path(folder, 'plan')
    if what == 'plan':
        audited = audit.run(cluster, ['volumes'], lambda: known, workers=2)
        examined = list(removal.planned(audited, sources))
        planned = outcomes.Status.PLANNED
        items = [each for each in examined if each.status is planned]
        show(examined)
        taken = plan_file.now().isoformat()
        header = plan_file.Header('clean', 'fsid', 'url', '', taken)
        partial = plan.with_suffix('.part')
        partial.write_text(plan_file.text(header, items))
        partial.rename(plan)
        return
    header, items = plan_file.parsed(plan.read_text(), 'clean')
    header = dataclasses.replace(header, taken=_NEVER.isoformat())
    path = pathlib.Path(folder, 'journal')
    show(applied(header, items, sources, path, heeds_health=False))


if __name__ == '__main__':
    main(*sys.argv[1:])
