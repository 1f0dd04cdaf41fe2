# SPDX-License-Identifier: Apache-2.0

"""Invalid responses about a volume type are detected."""

import contextlib
import json
from typing import Any

import ddt
import hypothesis

from horizon_volume_opts import answers
from horizon_volume_opts import qos
from rbd_volume_options import keys
from rbd_volume_options import registry
from tests.unit import untrusted
from tests.unit.horizon_volume_opts import fake_cloud


@ddt.ddt
class AnswersTestCase(untrusted.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.answer = fake_cloud.offered('t')

    @hypothesis.given(untrusted.altered(fake_cloud.offered('t')))
    def test_any_answer_is_read_or_invalid(self, answer: Any) -> None:
        hypothesis.assume(isinstance(answer, dict))
        with contextlib.suppress(answers.InvalidAnswerError):
            options = answers.options_of(answer)
            self.assertIn(keys.OBJECT_SIZE, options)
            json.dumps(options)

    @hypothesis.given(
        untrusted.altered(
            {'consumer': 'both', 'limits': {'total_iops_sec': '5'}}
        )
    )
    def test_any_limits_are_shown_or_invalid(self, described: Any) -> None:
        self.answer['qos_limits'] = described
        with contextlib.suppress(answers.InvalidAnswerError):
            answers.options_of(self.answer)
            qos.text(described['limits'] if described else {})

    def test_a_key_that_is_not_described_can_not_be_set(self) -> None:
        options = answers.options_of(self.answer)
        for key, option in self.answer['options'].items():
            self.assertEqual(option, {**options[key], **option})
        self.answer['options'] = {}
        options = answers.options_of(self.answer)
        self.assertEqual(
            set(registry.volume_keys()) | {keys.DATA_POOL}, set(options)
        )
        for option in options.values():
            self.assertFalse(option['settable'])

    @ddt.data(
        (keys.OBJECT_SIZE, {'settable': 'yes'}, "'settable'"),
        (keys.OBJECT_SIZE, {'default': '4M'}, 'default'),
        (keys.OBJECT_SIZE, {'default_from': []}, "'default_from'"),
        (keys.OBJECT_SIZE, {'minimum': 0}, "'minimum'"),
        (keys.OBJECT_SIZE, {'minimum': 3 << 20}, "'minimum'"),
        (keys.OBJECT_SIZE, {'maximum': 1 << 1100}, "'maximum'"),
        (keys.OBJECT_SIZE, {'maximum': 2048}, 'above'),
        (keys.OBJECT_SIZE, {'maximum_objects': 0}, "'maximum_objects'"),
        (keys.STRIPE_COUNT, {'maximum': True}, "'maximum'"),
        (keys.OBJECT_MAP, {'allowed': ['true']}, "'allowed'"),
        (keys.FEATURES, {'allowed': 'layering'}, "'allowed'"),
        (keys.FEATURES, {'requires': {'fast-diff': None}}, "'requires'"),
        (keys.CACHE_MODE, {'allowed': None}, "'allowed'"),
    )
    @ddt.unpack
    def test_invalid_answer_names_the_field(
        self, key: str, change: dict[str, Any], words: str
    ) -> None:
        self.answer['options'][key].update(change)
        error = self.assertRaises(
            answers.InvalidAnswerError, answers.options_of, self.answer
        )
        self.assertIn(key, str(error))
        self.assertIn(words, str(error))

    @ddt.data(keys.OBJECT_SIZE, keys.STRIPE_UNIT, keys.STRIPE_COUNT)
    def test_a_key_that_can_be_set_has_bounds(self, key: str) -> None:
        for name in ('minimum', 'maximum'):
            answer = fake_cloud.offered('t')
            del answer['options'][key][name]
            error = self.assertRaises(
                answers.InvalidAnswerError, answers.options_of, answer
            )
            self.assertIn(repr(name), str(error))
            answer['options'][key]['settable'] = False
            answers.options_of(answer)

    @ddt.data(
        {'options': None},
        {'options': {keys.FEATURES: []}},
        {'require_whole_stripes': None},
        {'qos_limits': {'consumer': 'both'}},
        {'qos_limits': {'limits': {'total_iops_sec': 5}}},
    )
    def test_invalid_parts_of_a_type(self, change: dict[str, Any]) -> None:
        self.answer.update(change)
        self.assertRaises(
            answers.InvalidAnswerError, answers.options_of, self.answer
        )
