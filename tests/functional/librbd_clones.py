# SPDX-License-Identifier: Apache-2.0

"""Behaviour of librbd: snapshots, clones, copies and handles.

It continues :mod:`tests.functional.librbd_behaviour`.
"""

from typing import Any

import ddt

from tests.functional import librbd_behaviour
from tests.functional.librbd_behaviour import DATA_POOL
from tests.functional.librbd_behaviour import DEFAULT
from tests.functional.librbd_behaviour import KIB
from tests.functional.librbd_behaviour import LAYERING
from tests.functional.librbd_behaviour import LOCK
from tests.functional.librbd_behaviour import OBJECT_MAP
from tests.functional.librbd_behaviour import OPERATIONS
from tests.functional.librbd_behaviour import SIZE
from tests.functional.librbd_behaviour import STRIPED
from tests.functional.librbd_behaviour import STRIPING

#: Layout of the parent, requested layout, resulting layout.
CLONED: dict[
    str, tuple[dict[str, Any], dict[str, Any], tuple[int, int, int]]
] = {
    'all_from_the_parent': (STRIPED, {}, (20, 64 * KIB, 8)),
    'order_alone': (STRIPED, {'order': 22}, (22, 64 * KIB, 8)),
    'all_of_its_own': (
        STRIPED,
        {'order': 23, 'stripe_unit': 16 * KIB, 'stripe_count': 2},
        (23, 16 * KIB, 2),
    ),
    'plain_over_striped': (
        STRIPED,
        {'order': 22, 'stripe_unit': 1 << 22, 'stripe_count': 1},
        (22, 1 << 22, 1),
    ),
    'larger_objects_of_plain': (
        {'order': 20},
        {'order': 22},
        (22, 1 << 20, 1),
    ),
}


@ddt.ddt
class Clones(librbd_behaviour.Images):
    """Behaviour of snapshots, clones and copies."""

    def parent(self, **options: Any) -> None:
        """Create a parent with a protected snapshot."""
        self.create('parent', **{'features': LAYERING, **options})
        with self.open('parent') as image:
            image.create_snap('s')
            image.protect_snap('s')

    def clone(self, name: str = 'clone', **options: Any) -> None:
        """Clone the parent's snapshot."""
        self.module.RBD().clone(
            self.ioctx,
            'parent',
            's',
            self.ioctx,
            name,
            **{'features': LAYERING, **options},
        )

    @ddt.data(*CLONED)
    def test_clone_takes_layout_from_arguments_or_parent(
        self, case: str
    ) -> None:
        has, options, made = CLONED[case]
        self.parent(**has)
        self.clone(**options)
        self.check(made, self.numbers('clone')[:3])
        self.check(
            ('parent', 's'), tuple(self.open('clone').parent_info()[1:])
        )

    def test_clone_features_are_its_own(self) -> None:
        self.parent(features=LAYERING)
        self.clone(features=DEFAULT)
        self.check(DEFAULT | OPERATIONS, self.numbers('clone')[3])
        self.check(LAYERING | OPERATIONS, self.numbers('parent')[3])
        self.check(0, self.open('clone').flags())

    def test_clone_with_too_small_objects(self) -> None:
        self.parent(order=23)
        self.refuses('InvalidArgument', self.clone, order=22)
        self.check(['parent'], self.names())

    def test_clone_of_nothing_or_onto_something(self) -> None:
        self.refuses('ImageNotFound', self.clone)
        self.parent()
        self.create('clone', order=20)
        self.refuses('ImageExists', self.clone)
        self.check(20, self.numbers('clone')[0])
        with self.open('parent') as image:
            image.unprotect_snap('s')
            image.remove_snap('s')
        self.refuses('ImageNotFound', self.clone, 'another')

    def test_clone_needs_layering(self) -> None:
        self.parent()
        self.refuses('FunctionNotSupported', self.clone, features=LOCK)
        self.check(['parent'], self.names())

    def test_protection_needs_layering(self) -> None:
        self.create(features=LOCK)
        image = self.open()
        image.create_snap('s')
        self.refuses('FunctionNotSupported', image.protect_snap, 's')

    def test_clone_inherits_metadata(self) -> None:
        self.create('parent', features=LAYERING)
        with self.open('parent') as image:
            image.metadata_set('conf_rbd_cache', 'false')
            image.create_snap('s')
            image.protect_snap('s')
        self.clone()
        clone = self.open('clone')
        self.check([('conf_rbd_cache', 'false')], list(clone.metadata_list()))
        clone.metadata_remove('conf_rbd_cache')
        self.check([], list(clone.metadata_list()))
        with self.open('parent') as image:
            self.check(1, len(list(image.metadata_list())))

    def test_clone_into_a_data_pool(self) -> None:
        self.parent()
        self.clone(data_pool=self.other_pool)
        self.check(LAYERING | DATA_POOL | OPERATIONS, self.numbers('clone')[3])

    def test_metadata_that_is_not_there(self) -> None:
        self.create()
        self.assertRaises(  # type: ignore[attr-defined]
            KeyError, self.open().metadata_remove, 'nothing'
        )

    def test_flatten_detaches_clone_once(self) -> None:
        self.parent()
        self.clone()
        clone = self.open('clone')
        clone.flatten()
        self.check(LAYERING, clone.features())
        self.refuses('ImageNotFound', clone.parent_info)
        self.refuses('InvalidArgument', clone.flatten)
        self.check([], list(self.open('parent').list_children()))

    # Snapshots

    def test_snapshot_is_protected_before_removal(self) -> None:
        self.create(features=LAYERING)
        image = self.open()
        image.create_snap('s')
        self.refuses('ImageExists', image.create_snap, 's')
        self.check(False, image.is_protected_snap('s'))
        self.refuses('InvalidArgument', image.unprotect_snap, 's')
        image.protect_snap('s')
        self.refuses('ImageBusy', image.protect_snap, 's')
        self.check(True, image.is_protected_snap('s'))
        self.refuses('ImageBusy', image.remove_snap, 's')
        (entry,) = image.list_snaps()
        self.check(('s', SIZE, 0), tuple(entry[k] for k in _SNAPSHOT))
        image.unprotect_snap('s')
        image.remove_snap('s')
        self.check([], list(image.list_snaps()))

    def test_snapshot_that_is_not_there(self) -> None:
        self.create(features=LAYERING)
        image = self.open()
        for call in (
            image.protect_snap,
            image.is_protected_snap,
            image.unprotect_snap,
            image.remove_snap,
            image.set_snap,
        ):
            self.refuses('ImageNotFound', call, 's')
        self.refuses('ImageNotFound', self.open, snapshot='s')

    def test_snapshot_keeps_the_size(self) -> None:
        self.create(features=LAYERING)
        image = self.open()
        image.create_snap('s')
        image.resize(2 * SIZE)
        self.check(SIZE, self.open(snapshot='s').size())
        image.set_snap('s')
        self.check(SIZE, image.size())
        image.set_snap(None)
        self.check(2 * SIZE, image.size())

    def test_removed_snapshot_with_clones_goes_to_the_trash(self) -> None:
        self.parent()
        self.clone()
        parent = self.open('parent')
        self.check(
            ['clone'], [name for _, name in list(parent.list_children())]
        )
        parent.unprotect_snap('s')
        parent.remove_snap('s')
        (entry,) = parent.list_snaps()
        self.check(2, entry['namespace'])
        self.check('s', entry['trash']['original_name'])
        for name in ('s', entry['name']):
            self.refuses('ImageNotFound', self.open, 'parent', snapshot=name)
        parent.close()
        self.refuses(
            'ImageHasSnapshots', self.module.RBD().remove, self.ioctx, 'parent'
        )
        self.open('clone').flatten()
        self.check([], list(self.open('parent').list_snaps()))

    # Copies

    def test_copy_keeps_layout_and_metadata_but_no_snapshots(self) -> None:
        self.create(**STRIPED, features=LAYERING | LOCK)
        image = self.open()
        image.metadata_set('k', 'v')
        image.create_snap('s')
        image.copy(self.ioctx, 'copy')
        self.check(self.numbers(), self.numbers('copy'))
        copy = self.open('copy')
        self.check([('k', 'v')], list(copy.metadata_list()))
        self.check([], list(copy.list_snaps()))
        self.refuses('ImageExists', image.copy, self.ioctx, 'copy')

    def test_copy_of_another_kind(self) -> None:
        self.create(**STRIPED, features=LAYERING | LOCK)
        self.open(read_only=True).copy(
            self.ioctx,
            'copy',
            features=LAYERING,
            order=23,
            stripe_unit=32 * KIB,
            stripe_count=2,
            data_pool=self.other_pool,
        )
        self.check(
            (23, 32 * KIB, 2, LAYERING | STRIPING | DATA_POOL),
            self.numbers('copy'),
        )

    def test_copy_leaves_the_data_pool(self) -> None:
        self.create(features=LAYERING, data_pool=self.other_pool)
        self.open().copy(self.ioctx, 'copy')
        self.check(LAYERING, self.numbers('copy')[3])

    def test_copy_refused(self) -> None:
        self.create(**STRIPED, features=LAYERING)
        self.refuses(
            'InvalidArgument', self.open().copy, self.ioctx, 'copy', order=13
        )
        self.check(['i'], self.names())

    # Removal, renaming and handles

    def test_remove_refuses_open_image(self) -> None:
        self.create()
        rbd = self.module.RBD()
        image = self.open()
        self.refuses('ImageBusy', rbd.remove, self.ioctx, 'i')
        image.close()
        reader = self.open(read_only=True)
        reader.close()
        rbd.remove(self.ioctx, 'i')
        self.check([], self.names())
        error = self.refuses('ImageNotFound', rbd.remove, self.ioctx, 'i')
        self.check(2, error.errno)

    def test_remove_what_has_snapshots(self) -> None:
        self.parent()
        self.refuses(
            'ImageHasSnapshots', self.module.RBD().remove, self.ioctx, 'parent'
        )

    def test_removed_clone_leaves_its_parent(self) -> None:
        self.parent()
        self.clone()
        self.module.RBD().remove(self.ioctx, 'clone')
        self.check([], list(self.open('parent').list_children()))

    def test_rename_keeps_existing_target(self) -> None:
        self.create(order=20)
        self.create('j', order=21)
        rbd = self.module.RBD()
        self.refuses('ImageExists', rbd.rename, self.ioctx, 'i', 'j')
        self.refuses('ImageNotFound', rbd.rename, self.ioctx, 'h', 'k')
        rbd.rename(self.ioctx, 'i', 'k')
        self.check(['j', 'k'], self.names())
        self.check('k', self.open('k').get_name())

    def test_closed_image_refuses_calls(self) -> None:
        self.create()
        image = self.open()
        image.close()
        image.close()
        for call in (image.size, image.stat, image.features, image.flatten):
            self.refuses('InvalidArgument', call)

    def test_read_only(self) -> None:
        self.create(features=DEFAULT)
        image = self.open(read_only=True)
        self.refuses('ReadOnlyImage', image.resize, 2 * SIZE)
        self.refuses('ReadOnlyImage', image.create_snap, 's')
        self.refuses('ReadOnlyImage', image.metadata_set, 'k', 'v')
        self.refuses('ReadOnlyImage', image.update_features, OBJECT_MAP, False)
        self.refuses('ReadOnlyImage', image.flatten)

    def test_image_outlives_its_ioctx(self) -> None:
        self.create()
        other = self.second_ioctx()
        image = self.module.Image(other, 'i')
        other.close()
        self.check(SIZE, image.size())
        image.create_snap('s')
        image.close()

    def second_ioctx(self) -> Any:
        """Return another I/O context for the pool."""
        raise NotImplementedError


_SNAPSHOT = ('name', 'size', 'namespace')
