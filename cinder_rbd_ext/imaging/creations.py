# SPDX-License-Identifier: Apache-2.0

"""RBD images that are being created.

The stock driver creates images in many methods but with few calls. While one
of these methods runs, a :class:`Creation` is held under the name of the image.
The calls (:mod:`cinder_rbd_ext.imaging.librbd`, and ``rbd import`` through
:mod:`cinder_rbd_ext.imaging.maker`) get its plan and report the result to it.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from cinder import exception
from oslo_concurrency import processutils
from oslo_log import log as logging

from cinder_rbd_ext import exceptions
from rbd_volume_options import accepted_keys
from rbd_volume_options import errors
from rbd_volume_options import options

LOG = logging.getLogger(__name__)
# Creation has a method plan.
_State = options.Values
_Plan = options.Values

# Classes that Cinder's flows know (CreateVolumeFromSpecTask treats a failed
# command differently from other failures), and the one that the driver turns
# into a refusal.
_KNOWN = (
    exception.CinderException,
    processutils.ProcessExecutionError,
    errors.OptionError,
)


#: Decides how an image is created; see :meth:`Creation.plan`.
Planner = Callable[[_State, _State | None], _Plan]


@dataclasses.dataclass(frozen=True)
class Parent:
    """The image that is cloned.

    :ivar has_configuration: whether its clones inherit configuration
    """

    state: options.Values
    has_configuration: bool


@dataclasses.dataclass(eq=False)
class Creation:
    """The creation of one RBD image, from its plan to its completion.

    :ivar remove: removes the image if the creation fails; None to keep it
    :ivar made: whether this creation has created the image, or a part of it
    :ivar set_up: whether QoS, replication and multi-attach are set up
    :ivar failure: the first failure. The stock driver reports most failures as
        a failure of replication or of its own clean-up.
    :ivar how: the plan, as soon as there is one
    :ivar state: the state of the image; None if only the image tells
    :ivar parent: for a clone, the image that is cloned, if already read
    :ivar inherits_configuration: whether the image has its parent's
    :ivar checked: the metadata of the volume that was checked; None for an
        image that replaces an earlier one, for which nothing is checked
    :ivar needs_default_striping: whether librbd's default striping is
        required, because an object size and no striping is requested
    :ivar accepted: for the target of a migration, the accepted keys
    :ivar undo: the actions that undo the creation, run in reverse
    """

    name: str
    planner: Planner
    remove: Callable[[], None] | None = None
    made: bool = False
    set_up: bool = False
    failure: Exception | None = None
    how: _Plan = dataclasses.field(default_factory=_Plan)
    state: _State | None = None
    parent: Parent | None = None
    inherits_configuration: bool = False
    checked: Mapping[str, str] | None = None
    needs_default_striping: bool = False
    accepted: accepted_keys.Acceptance | None = None
    undo: contextlib.ExitStack = dataclasses.field(
        default_factory=contextlib.ExitStack
    )

    def plan(self, base: _State, parent: _State | None = None) -> _Plan:
        """Return the plan of the image.

        :param base: the image that the stock driver would create
        :param parent: for a clone or a copy, the source image
        :raises OptionError: for options that are not possible
        """
        with self.noting():
            self.how = self.planner(base, parent)
            return self.how

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Record the first failure in the body of the context."""
        try:
            yield
        except Exception as error:
            self.failure = self.failure or error
            raise

    def was_made(self) -> None:
        """Record that this creation created the image, at least partly."""
        if not self.made and self.remove:
            self.undo.callback(self.remove)
        self.made = True

    def succeeded(self) -> None:
        """Discard the failures of earlier attempts."""
        self.failure = None
        self.was_made()

    def fail(self) -> None:
        """Undo the creation; a failure to do so is logged."""
        try:
            self.undo.close()
        except Exception:
            LOG.exception('Could not undo the creation of image %s', self.name)


class Creations:
    """The current creations on a back end, by the image's name.

    Cinder runs one operation on a volume at a time, so the name identifies the
    creation in every thread.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Creation] = {}

    def get(self, name: object) -> Creation | None:
        """Return the current creation of an image, or None."""
        return self._by_name.get(name) if isinstance(name, str) else None

    def find_import(self, command: Sequence[object]) -> Creation | None:
        """Return the creation of an ``rbd import``; None for others."""
        if tuple(command[:2]) != ('rbd', 'import'):
            return None
        creations = map(self.get, command[2:])
        return next(
            (creation for creation in creations if creation is not None), None
        )

    @contextlib.contextmanager
    def hold(self, creation: Creation) -> Iterator[Creation]:
        """Hold a creation during a method of the driver; undo a failed one.

        An inner creation replaces the outer one until it ends: the volume of a
        copied image is deleted and created again within one method.

        The first failure is raised, as an exception of Cinder. An exception of
        librbd must not leave the driver: Cinder catches only
        ``CinderException`` if the image-volume cache fails.

        :raises ImageNotMade: for a failure of librbd, librados or this driver
        """
        outer = self._by_name.get(creation.name)
        self._by_name[creation.name] = creation
        try:
            yield creation
        except Exception as error:
            first = creation.failure = creation.failure or error
            creation.fail()
            if not isinstance(first, _KNOWN):
                reason = f'{type(first).__name__}: {first}'
                raise exceptions.ImageNotMade(
                    name=creation.name, reason=reason
                ) from first
            if first is not error:
                raise first from error
            raise
        finally:
            if outer is None:
                del self._by_name[creation.name]
            else:
                self._by_name[creation.name] = outer
