# SPDX-License-Identifier: Apache-2.0

"""Tests of the plug-in with real Horizon code, without a service."""

import os
import warnings

import django
from django.test import utils

# Horizon's modules can be imported only when Django has been set up.
os.environ.setdefault(
    'DJANGO_SETTINGS_MODULE', 'tests.unit.horizon_volume_opts.django_settings'
)
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    django.setup()
# What Django's own runner does: a response tells its templates and contexts.
utils.setup_test_environment()
