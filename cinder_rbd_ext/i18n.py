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

"""Translation of messages, from the catalogues of this package.

The catalogues of Cinder do not contain them.
"""

import os
import pathlib

import oslo_i18n

DOMAIN = 'cinder_rbd_ext'
LOCALE_DIR = str(pathlib.Path(__file__).parent / 'locale')

# oslo.i18n reads the variable when it translates a message for a request.
os.environ.setdefault(f'{DOMAIN.upper()}_LOCALEDIR', LOCALE_DIR)
_translators = oslo_i18n.TranslatorFactory(DOMAIN, LOCALE_DIR)

# The marker that message extraction searches for.
_ = _translators.primary
