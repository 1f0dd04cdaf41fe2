# SPDX-License-Identifier: Apache-2.0

"""Refusals, with the messages of the API extension."""

from cinderclient import exceptions
from django.utils import translation
import hypothesis
from hypothesis import strategies
from openstack_dashboard.api import cinder
import requests.exceptions

from horizon_volume_opts import offers
from horizon_volume_opts import refusals
from rbd_volume_options import errors
from rbd_volume_options import keys
from rbd_volume_options import options
from rbd_volume_options import registry
from tests.unit import base
from tests.unit import untrusted
from tests.unit.horizon_volume_opts import fake_cloud
from tests.unit.horizon_volume_opts import horizon_case


class UntrustedTestCase(untrusted.TestCase):
    @hypothesis.given(
        strategies.sampled_from([*registry.OPTIONS]), untrusted.TEXTS
    )
    @hypothesis.example('rbd:bps_limit', "'9999999999999999999'")
    def test_any_message_is_read_and_shown(self, key: str, text: str) -> None:
        message = f'{errors.REFUSED}{key} = {text}'
        refusal = refusals.read(exceptions.BadRequest(400, message))
        # A message ends after a value.
        self.assertEqual(key if text else None, refusal and refusal.key)
        for error in (
            exceptions.BadRequest(400, text),
            exceptions.Forbidden(403, text),
            exceptions.ClientException(503, text),
        ):
            refusals.read(error)

    def test_long_messages_are_read_quickly(self) -> None:
        def read(text: str) -> None:
            refusals.readable(text, 'rbd:bps_limit')
            refusals.readable(text, 'rbd:object_size')
            refusals.read(exceptions.BadRequest(400, errors.REFUSED + text))
            refusals.read(exceptions.Forbidden(403, text))

        self.assertQuick(read)


class ReadTestCase(base.TestCase):
    def test_bad_request(self) -> None:
        text = (
            "RBD volume option refused: rbd:object_size = '3M' (volume "
            'metadata): not a power of two; allowed: a power of two'
        )
        self.assertEqual(
            refusals.Refusal('rbd:object_size', text.partition(' = ')[2]),
            refusals.read(exceptions.BadRequest(400, text)),
        )

    def test_policy_refusal_names_the_key(self) -> None:
        text = (
            'Policy does not allow volume_extension:rbd_volume_options:'
            'set_layout, which rbd:object_size needs.'
        )
        refusal = refusals.read(exceptions.Forbidden(403, text))
        self.assertEqual(refusals.Refusal('rbd:object_size', text), refusal)

    def test_try_again_later(self) -> None:
        refusal = refusals.read(exceptions.ClientException(503, 'in a minute'))
        self.assertEqual(refusals.Refusal(None, 'in a minute'), refusal)

    def test_of_others(self) -> None:
        for error in (
            exceptions.BadRequest(400, 'Invalid volume type'),
            exceptions.Forbidden(403, 'no'),
            exceptions.OverLimit(413, 'quota'),
            exceptions.ClientException(500),
        ):
            self.assertIsNone(refusals.read(error))


class FailuresTestCase(horizon_case.HorizonTestCase):
    def test_failed_requests_of_horizon_raise_them(self) -> None:
        for fault in (
            fake_cloud.Refused(500, 'broken'),
            requests.exceptions.Timeout('slow'),
            requests.exceptions.ConnectionError('nobody there'),
        ):
            self.cloud.faults = {'GET /v3/p/volumes/': fault}
            self.assertRaises(
                refusals.FAILURES,
                cinder.volume_get,
                self.request_to('/'),
                'v',
            )


class ReadableTestCase(base.TestCase):
    def test_sizes_have_units_wherever_their_key_stands(self) -> None:
        self.assertEqual(
            'refused: rbd:stripe_unit = 64\xa0KiB, not rbd:stripe_count = '
            "'1024'",
            refusals.readable(
                "refused: rbd:stripe_unit = '65536', not rbd:stripe_count = "
                "'1024'"
            ),
        )

    def test_numbers_of_bytes_per_second_have_units(self) -> None:
        self.assertEqual(
            '100 MiB: less than rbd:bps_limit = 1 GiB; allowed: 1 to 1024 GiB',
            refusals.readable(
                "'104857600': less than rbd:bps_limit = 1073741824; "
                'allowed: 1 to 1099511627776',
                'rbd:bps_burst',
            ),
        )
        for key, text in (
            ('rbd:iops_limit', "'5000': more than the volume type allows"),
            ('rbd:bps_limit', "'5000 5000x': not a size"),
        ):
            self.assertEqual(text, refusals.readable(text, key))


class OfErrorTestCase(base.TestCase):
    def test_refusal_is_translated_to_german(self) -> None:
        """Reason and allowed values; the value and names stay."""
        metadata = errors.Origin.VOLUME_METADATA
        for invalid, text in (
            (
                {'rbd:object_size': '3M'},
                "'3M': keine Zweierpotenz; erlaubt: eine Zweierpotenz von "
                '4 KiB bis 32 MiB',
            ),
            (
                {'rbd:stripe_unit': '64K'},
                "'64K': ohne rbd:stripe_count gesetzt; erlaubt: beide oder "
                'keiner',
            ),
            (
                {'rbd:features': 'layering,object-map'},
                "'layering,object-map': object-map erfordert exclusive-lock; "
                'erlaubt: eine durch Kommas getrennte Liste aus layering, '
                'exclusive-lock, object-map, fast-diff, deep-flatten, '
                'journaling',
            ),
        ):
            error: errors.OptionError = self.assertRaises(
                errors.OptionError,
                options.parse,
                invalid,
                keys.Scope.VOLUME,
                metadata,
            )
            with translation.override('de'):
                self.assertEqual(text, refusals.of_error(error).text)

    def test_german_of_a_type(self) -> None:
        offer = offers.UserOffer.of(
            fake_cloud.offered(
                'rbd',
                stripe_unit={'settable': False},
                object_map={'allowed': [False]},
            )
        )
        for refused, text in (
            (
                {'rbd:stripe_unit': '64K', 'rbd:stripe_count': '2'},
                "'64K': Mandanten dürfen diesen Schlüssel bei diesem "
                'Datenträgertyp nicht setzen',
            ),
            (
                {'rbd:object_map': 'true'},
                "'true': von diesem Datenträgertyp nicht erlaubt; erlaubt: "
                'false',
            ),
        ):
            with translation.override('de'):
                error: errors.OptionError = self.assertRaises(
                    errors.OptionError, offer.check, refused, None
                )
                self.assertIn(text, refusals.of_error(error).text)
