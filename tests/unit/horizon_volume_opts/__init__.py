# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
