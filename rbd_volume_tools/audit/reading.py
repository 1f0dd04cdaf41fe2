# SPDX-License-Identifier: Apache-2.0

"""Reads images in processes of their own.

What clients of a pool wrote can end a process that opens an image: librbd
divides by zero for a header with an order of 255. Such a process ends alone,
and its image is a finding. The processes read and never change anything.
"""

from collections.abc import Mapping
import json
import os
import pickle
import signal
import subprocess
import sys
from typing import Any
from typing import cast
from typing import IO

from rbd_volume_tools.audit import images

#: Signals by which the content of an image can end a process.
_FAULTS = frozenset(
    {
        *(signal.SIGABRT, signal.SIGBUS, signal.SIGFPE),
        *(signal.SIGILL, signal.SIGSEGV),
    }
)

_PROGRAM = (
    'import sys; from rbd_volume_tools.audit import reading; '
    'reading.main(sys.argv[1])'
)


class NotRead(Exception):
    """An image could not be read.

    :ivar errno: of librbd; None if its process ended
    """

    def __init__(self, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno


class Stopped(Exception):
    """The process ended for another reason than an image."""


class Reader:
    """Reads images in a process, which is started again after its end.

    :param settings: conf, user and options of the connection to Ceph
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = json.dumps(dict(settings))
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process."""
        if self._process:
            process, self._process = self._process, None
            # It ends with its input, unless librbd waits for the cluster.
            process.kill()
            process.communicate()

    def read(self, pool: str, name: str, **how: Any) -> images.Image:
        """Return the facts about an image, see :func:`images.read`.

        :raises NotRead: if librbd refuses it, or the process ended
        :raises UnicodeDecodeError: if its metadata is no text
        :raises Stopped: if the process ended for another reason
        """
        answer = self._answer(json.dumps([pool, name, how]))
        if isinstance(answer, Exception):
            raise answer
        return cast(images.Image, answer)

    def _answer(self, request: str) -> object:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, '-c', _PROGRAM, self._settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C ends a run after the current image.
                start_new_session=True,
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
            )
        process = self._process
        requests = cast(IO[bytes], process.stdin)
        try:
            requests.write(f'{request}\n'.encode())
            requests.flush()
            # The process has the rights of this one.
            answer: object = pickle.load(  # noqa: S301
                cast(IO[bytes], process.stdout)
            )
            return answer
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process = None
            process.communicate()
            status = process.returncode
            if -status in _FAULTS:
                name = signal.Signals(-status).name
                raise NotRead(f'librbd ends its process: {name}') from None
            raise Stopped(
                f'The process that reads images ended with status {status}.'
            ) from None


def main(settings: str) -> None:
    """Answer the requests of standard input until it ends."""
    import rados
    import rbd

    # What the libraries print must not be among the answers.
    output = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    how = json.loads(settings)
    with rados.Rados(
        conffile=how['conf'], rados_id=how['user'], conf=how['options']
    ) as connection:
        for line in sys.stdin.buffer:
            pickle.dump(_read(rados, rbd, connection, line), output)
            output.flush()


def _read(rados: Any, rbd: Any, connection: Any, line: bytes) -> object:
    pool, name, how = json.loads(line)
    try:
        ioctx = connection.open_ioctx(pool)
        try:
            return images.read(
                rbd, ioctx, pool, name, connection.pool_reverse_lookup, **how
            )
        finally:
            ioctx.close()
    except UnicodeDecodeError as error:
        return error
    except (rados.Error, rbd.Error) as error:
        return NotRead(str(error), getattr(error, 'errno', None))
