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

"""RBD images on their way into being.

The stock driver makes images in many methods but by few calls. While one of
those methods runs, a :class:`Creation` is held under the image's name, and
the calls (:mod:`cinder_rbd_ext.imaging.librbd` and
:mod:`cinder_rbd_ext.imaging.rbd_import`) ask it how the image is to be made
and tell it what became of that.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Protocol

from oslo_log import log as logging

from rbd_volume_options import errors
from rbd_volume_options import plan
from rbd_volume_options import precedence

LOG = logging.getLogger(__name__)


Origins = Mapping[precedence.Part, errors.Origin] | None


class Planner(Protocol):
    """Decides how an image is to be made."""

    def __call__(
        self, base: plan.ImageState, parent: plan.ImageState | None
    ) -> plan.ImagePlan:
        """Return the plan; see :meth:`Creation.plan`."""


class Creation:
    """One RBD image, from the decision to make it until it stands.

    :ivar name: the image's name
    :ivar made: whether the image is there by our doing
    :ivar set_up: whether the volume's QoS, replication and multi-attach
        have been seen to
    :ivar failure: the first thing that went wrong. Stock wraps most failures
        in one of replication, or in one of its own clean-up.
    :ivar state: what was made, where it can't be read from the backend's
        pool afterwards
    :ivar needs_default_striping: whether an object size is asked for and
        nothing about striping, so that librbd's default has to be known
    :ivar origins: where each part of the image was given; None where it
        repeats an image that exists
    :ivar undo: what to do if this fails, run in reverse
    :param planner: decides how the image is to be made
    :param remove: removes the image if this fails; None to leave it
    """

    def __init__(
        self,
        name: str,
        planner: Planner,
        remove: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.made = False
        self.set_up = False
        self.failure: Exception | None = None
        self.state: plan.ImageState | None = None
        self.needs_default_striping = False
        self.origins: Origins = None
        self.undo = contextlib.ExitStack()
        self._planner = planner
        self._remove = remove
        self._undoing = False

    def plan(
        self, base: plan.ImageState, parent: plan.ImageState | None = None
    ) -> plan.ImagePlan:
        """Return how to make the image.

        :param base: what the stock driver would make
        :param parent: for a clone or a copy, the image that it is made from
        :raises OptionError: for what can't be made
        """
        with self.noting():
            how = self._planner(base, parent)
            self.origins = how.origins
            return how

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Remember the first failure of what is done within."""
        try:
            yield
        except Exception as error:
            self.failure = self.failure or error
            raise

    def was_made(self) -> None:
        """Tell that the image is there, whole or in part, by our doing."""
        if not self.made and self._remove:
            self.undo.callback(self._remove)
        self.made = True

    def succeeded(self) -> None:
        """Forget failures of tries before the one that succeeded."""
        self.failure = None
        self.was_made()

    @property
    def is_to_be_undone(self) -> bool:
        """Whether it failed, so that stock's clean-up is to be left out."""
        return self.failure is not None and not self._undoing

    def fail(self) -> None:
        """Undo what was done; what can't be undone is logged."""
        self._undoing = True
        try:
            self.undo.close()
        except Exception:
            LOG.exception('Could not clean up after image %s', self.name)


class Creations:
    """The creations under way on a backend, by the image's name.

    A volume's name is unique and Cinder runs one operation on it at a time,
    so that a name is enough, whatever thread a call runs in.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Creation] = {}

    def get(self, name: object) -> Creation | None:
        """Return the creation of an image, if it is under way."""
        return self._by_name.get(name) if isinstance(name, str) else None

    @contextlib.contextmanager
    def hold(self, creation: Creation) -> Iterator[Creation]:
        """Keep a creation for the time of a driver method.

        A method that calls another one joins its creation (a copied image's
        volume is deleted and made again within one).
        """
        outer = self._by_name.get(creation.name)
        self._by_name[creation.name] = creation
        try:
            yield creation
        finally:
            if outer is None:
                del self._by_name[creation.name]
            else:
                self._by_name[creation.name] = outer
