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

"""Layouts in the language of the user."""

from django.utils.translation import gettext as _

from rbd_volume_options import layout
from rbd_volume_options import sizes


def in_words(image_layout: layout.ImageLayout) -> str:
    """Return a layout as text: ``4 MiB objects, 64 KiB x 8``."""
    size = sizes.format_size(image_layout.object_size)
    template: str = _('%(size)s objects')
    if image_layout.striping:
        template = _('%(size)s objects, %(unit)s x %(count)d')
    return template % {
        'size': size,
        'unit': sizes.format_size(image_layout.stripe_unit),
        'count': image_layout.stripe_count,
    }
