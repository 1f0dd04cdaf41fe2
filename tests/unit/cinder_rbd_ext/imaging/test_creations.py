# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable
from typing import Any

from cinder import exception
from oslo_concurrency import processutils

from cinder_rbd_ext import exceptions
from cinder_rbd_ext.imaging import creations
from rbd_volume_options import errors
from rbd_volume_options import layout
from rbd_volume_options import options
from tests import option_values
from tests.unit import base

_BASE = options.image_values(
    layout.ImageLayout(4 << 20), frozenset({'layering'})
)
_PLAN = option_values.planned(layout.ImageLayout(1 << 20))


def _planner(
    base: options.Values, parent: options.Values | None
) -> options.Values:
    return _PLAN


class CreationTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done: list[str] = []
        self.creation = self._creation(lambda: self.done.append('removed'))

    def _creation(
        self, remove: Callable[[], None] | None = None
    ) -> creations.Creation:
        return creations.Creation('volume-1', _planner, remove)

    def _fail_in_noting(self, error: Exception) -> None:
        def fail() -> None:
            with self.creation.noting():
                raise error

        self.assertIs(error, self.assertRaises(type(error), fail))

    def test_plan_is_made_once_with_base_and_parent(self) -> None:
        seen: list[Any] = []

        def planner(
            base: options.Values, parent: options.Values | None
        ) -> options.Values:
            seen.append((base, parent))
            return _PLAN

        creation = creations.Creation('volume-1', planner)
        self.assertIs(_PLAN, creation.plan(_BASE))
        self.assertIs(_PLAN, creation.plan(_BASE, _BASE))
        self.assertEqual([(_BASE, None), (_BASE, _BASE)], seen)

    def test_refusal_is_the_failure(self) -> None:
        """A refusal is kept as the failure; the stock driver would wrap it."""

        def refuse(
            base: options.Values, parent: options.Values | None
        ) -> options.Values:
            raise ValueError('refused')

        creation = creations.Creation('volume-1', refuse)
        error = self.assertRaises(ValueError, creation.plan, _BASE)
        self.assertIs(error, creation.failure)

    def test_first_failure_counts(self) -> None:
        first = ValueError('first')
        self._fail_in_noting(first)
        self._fail_in_noting(KeyError('second'))
        self.assertIs(first, self.creation.failure)

    def test_success_after_a_failure(self) -> None:
        self._fail_in_noting(ValueError('first try'))
        self.assertTrue(self.creation.is_to_be_undone)
        self.creation.succeeded()
        self.assertIsNone(self.creation.failure)
        self.assertFalse(self.creation.is_to_be_undone)
        self.assertTrue(self.creation.made)

    def test_nothing_made_nothing_removed(self) -> None:
        self.creation.fail()
        self.assertEqual([], self.done)

    def test_made_and_removed_once(self) -> None:
        self.creation.was_made()
        self.creation.was_made()
        self.creation.succeeded()
        self.creation.fail()
        self.assertEqual(['removed'], self.done)

    def test_what_may_not_be_removed(self) -> None:
        creation = self._creation()
        creation.was_made()
        self.assertTrue(creation.made)
        creation.fail()

    def test_undone_in_reverse(self) -> None:
        """Undo in reverse order: remove a clone before its parent snapshot."""
        self.creation.undo.callback(self.done.append, 'snapshot')
        self.creation.was_made()
        self.creation.fail()
        self.assertEqual(['removed', 'snapshot'], self.done)

    def test_success_keeps_everything(self) -> None:
        self.creation.was_made()
        self.creation.undo.pop_all()
        self.creation.fail()
        self.assertEqual([], self.done)

    def test_undo_that_fails(self) -> None:
        def fail() -> None:
            raise OSError('no connection')

        self.creation.undo.callback(self.done.append, 'snapshot')
        self.creation.undo.callback(fail)
        self.creation.fail()
        self.assertEqual(['snapshot'], self.done)
        self.assertIn('Could not undo the creation of image', self.log.output)
        self.assertIn('no connection', self.log.output)

    def test_clean_up_is_left_to_undo_until_it_runs(self) -> None:
        states = []
        self.creation.undo.callback(
            lambda: states.append(self.creation.is_to_be_undone)
        )
        self.assertFalse(self.creation.is_to_be_undone)
        self._fail_in_noting(ValueError('x'))
        self.assertTrue(self.creation.is_to_be_undone)
        self.creation.fail()
        self.assertEqual([False], states)


class CreationsTest(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.creations = creations.Creations()
        self.one = creations.Creation('volume-1', _planner)

    def test_held_creation_is_found_by_its_image(self) -> None:
        self.assertIsNone(self.creations.get('volume-1'))
        with self.creations.hold(self.one) as held:
            self.assertIs(self.one, held)
            self.assertIs(self.one, self.creations.get('volume-1'))
            self.assertIsNone(self.creations.get('volume-2'))
        self.assertIsNone(self.creations.get('volume-1'))

    def test_let_go_after_a_failure(self) -> None:
        def fail() -> None:
            with self.creations.hold(self.one):
                raise ValueError('x')

        self.assertRaises(ValueError, fail)
        self.assertIsNone(self.creations.get('volume-1'))

    def test_two_at_a_time(self) -> None:
        two = creations.Creation('volume-2', _planner)
        with self.creations.hold(self.one), self.creations.hold(two):
            self.assertIs(self.one, self.creations.get('volume-1'))
            self.assertIs(two, self.creations.get('volume-2'))

    def test_inner_creation_hides_the_outer_one(self) -> None:
        inner = creations.Creation('volume-1', _planner)
        with self.creations.hold(self.one):
            with self.creations.hold(inner):
                self.assertIs(inner, self.creations.get('volume-1'))
            self.assertIs(self.one, self.creations.get('volume-1'))

    def test_words_of_a_command(self) -> None:
        """Arguments of other types are not names of images."""
        with self.creations.hold(self.one):
            words: tuple[object, ...] = (22, None, [], b'volume-1')
            for word in words:
                self.assertIsNone(self.creations.get(word))


def _no_plan(base: object, parent: object) -> None:
    raise AssertionError('nothing is planned')


class NamingTest(base.TestCase):
    def _raised(
        self, error: Exception, first: Exception | None = None
    ) -> Exception:
        made = creations.Creation('volume-1', _no_plan)  # type: ignore[arg-type]
        made.failure = first
        try:
            with creations.naming(made):
                raise error
        except Exception as raised:
            return raised

    def test_error_of_librbd_names_the_image(self) -> None:
        error = self._raised(OSError(110, 'timed out'))
        self.assertIsInstance(error, exceptions.ImageNotMade)
        self.assertIn('volume-1', str(error))
        self.assertIn('timed out', str(error))
        self.assertIsInstance(error.__cause__, OSError)

    def test_first_one(self) -> None:
        stock = exception.ReplicationError(reason='r', volume_id='1')
        error = self._raised(stock, OSError('the cause'))
        self.assertIn('the cause', str(error))

    def test_cinders_own_and_commands(self) -> None:
        for own in (
            exception.InvalidInput(reason='x'),
            processutils.ProcessExecutionError('y'),
            errors.OptionError('rbd:x', 'y', 'not allowed', 'nothing'),
        ):
            self.assertIs(own, self._raised(own))
            self.assertIs(own, self._raised(OSError('later'), own))
