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


"""The steps of a live migration of an image within its pool, by librbd.

``prepare`` moves the image to the trash and creates a new image with its name,
``execute`` copies the data inside the cluster, ``commit`` removes the former
image. Until all data is copied, reads of the new image return the data of the
former image. :meth:`Steps.finish` continues after an interruption of any step.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import Any

from cinder.volume.drivers import rbd

from cinder_rbd_ext.cluster import connection_choice
from cinder_rbd_ext.conversion import leftovers
from cinder_rbd_ext.conversion import progress
from cinder_rbd_ext.imaging import planned
from rbd_volume_options import plan


class Steps:
    """The migration of one image.

    :param driver: the driver, which provides connections
    :param name: name of the image
    :param report: receives the progress
    """

    def __init__(
        self,
        driver: Any,
        name: str,
        report: progress.Report = lambda percent: None,
    ) -> None:
        self._driver = driver
        self._name = name
        self._report = report
        self._leftovers = leftovers.Leftovers(driver)

    def _run(
        self,
        function: Callable[[Any, Any, progress.Callback], Any],
        report: progress.Report = lambda percent: None,
    ) -> Any:
        """Run a function of librbd on a separate connection."""
        driver = self._driver
        with (
            connection_choice.own_connection(),
            rbd.RADOSClient(driver) as client,
        ):
            return progress.call(
                functools.partial(function, driver.rbd.RBD(), client.ioctx),
                report,
            )

    def state(self) -> int | None:
        """Return librbd's state of the migration; None if there is none."""
        try:
            found = self._run(
                lambda api, ioctx, at: api.migration_status(ioctx, self._name)
            )
        except self._driver.rbd.InvalidArgument:
            return None
        return int(found['state'])

    def prepare(self, target: plan.ImageState) -> None:
        """Start a migration.

        :raises rbd.Error: if librbd refuses it, for example because a client
            has the image open. Call :meth:`finish` to undo partial changes.
        """
        # The image's own pool means no data pool. Without this argument,
        # librbd would use the default data pool of its configuration.
        pool = target.data_pool or self._driver.configuration.rbd_pool
        how = plan.ImagePlan(target.layout, target.image_features, pool)
        # The Python binding of Ceph 16 expects bytes.
        given = {**planned.arguments(how), 'data_pool': pool.encode()}

        def run(api: Any, ioctx: Any, at: progress.Callback) -> None:
            api.migration_prepare(
                ioctx, self._name, ioctx, self._name, **given
            )

        self._run(run)

    def _is_incomplete(self, state: int | None) -> bool:
        """Return whether ``prepare`` or an abort was interrupted."""
        module = self._driver.rbd
        return state is not None and state not in (
            module.RBD_IMAGE_MIGRATION_STATE_PREPARED,
            module.RBD_IMAGE_MIGRATION_STATE_EXECUTING,
            module.RBD_IMAGE_MIGRATION_STATE_EXECUTED,
        )

    def abort(self) -> None:
        """Restore the former image.

        Data that was written to the new image is lost. Abort only a migration
        whose new image no client could open.
        """
        self._run(
            lambda api, ioctx, at: api.migration_abort(
                ioctx, self._name, on_progress=at
            )
        )

    def discard(self, source_id: str) -> None:
        """End a migration in any state without copying data.

        Data that was written to the new image may be lost: the image must be
        removed next.

        :param source_id: librbd's id of the former image
        :raises rbd.Error: if a step fails. The call can be repeated.
        """
        module = self._driver.rbd
        with contextlib.suppress(module.ImageNotFound):
            if self.state() in (
                module.RBD_IMAGE_MIGRATION_STATE_PREPARED,
                module.RBD_IMAGE_MIGRATION_STATE_EXECUTING,
            ):
                self.abort()
                return
        # Even if the new image does not exist, the former image may.
        with contextlib.suppress(self._driver.rados.ObjectNotFound):
            self.finish(source_id)

    def finish(self, source_id: str) -> bool:
        """Complete a migration in any state.

        A migration whose ``prepare`` is complete is never aborted, because a
        client may have written to the new image.

        :param source_id: librbd's id of the former image
        :returns: True if the new image exists; False if the former image was
            restored
        :raises rbd.Error: if a step fails. The call can be repeated.
        """
        try:
            state = self.state()
        except self._driver.rbd.ImageNotFound:
            self._run(
                lambda api, ioctx, at: self._leftovers.relink(
                    ioctx, self._name, source_id
                )
            )
            return False
        if self._is_incomplete(state):
            self.abort()
            return False
        self._execute_and_commit(state)
        return bool(
            self._run(
                lambda api, ioctx, at: self._leftovers.removed(
                    ioctx, self._name, source_id
                )
            )
        )

    def _execute_and_commit(self, state: int | None) -> None:
        """Run the steps that a prepared migration still needs."""
        module = self._driver.rbd
        if state in (
            module.RBD_IMAGE_MIGRATION_STATE_PREPARED,
            module.RBD_IMAGE_MIGRATION_STATE_EXECUTING,
        ):
            self._run(
                lambda api, ioctx, at: api.migration_execute(
                    ioctx, self._name, on_progress=at
                ),
                self._report,
            )
            state = module.RBD_IMAGE_MIGRATION_STATE_EXECUTED
        if state == module.RBD_IMAGE_MIGRATION_STATE_EXECUTED:
            self._run(
                lambda api, ioctx, at: api.migration_commit(
                    ioctx, self._name, on_progress=at
                ),
                # All data is copied; this report shows that the commit is
                # running.
                lambda percent: self._report(100),
            )
