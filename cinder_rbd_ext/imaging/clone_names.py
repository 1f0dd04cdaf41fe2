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

"""Names that the stock driver gives to what clones leave on their source."""

#: Suffix of a clone's name for the snapshot of the source.
SNAPSHOT = '.clone_snap'

#: Suffix of the name of a source that was deleted before its clones.
DELETED = '.deleted'
