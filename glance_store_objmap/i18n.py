# SPDX-License-Identifier: Apache-2.0

"""Translation of messages, from the catalogues of this package.

The catalogues of glance_store do not contain them.
"""

import os
import pathlib

import oslo_i18n

DOMAIN = 'glance_store_objmap'
LOCALE_DIR = str(pathlib.Path(__file__).parent / 'locale')

# oslo.i18n reads the variable when it translates a message for a request.
os.environ.setdefault(f'{DOMAIN.upper()}_LOCALEDIR', LOCALE_DIR)
_translators = oslo_i18n.TranslatorFactory(DOMAIN, LOCALE_DIR)

# The marker that message extraction searches for.
_ = _translators.primary
