/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may
 * not use this file except in compliance with the License. You may obtain
 * a copy of the License at
 *
 *      http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
 * WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
 * License for the specific language governing permissions and limitations
 * under the License.
 */

/* The cache mode in the form Attach Volume of an instance: the modes of the
 * selected volume. A data attribute has the modes of all types. */

horizon.rbdCacheMode = (function () {
  'use strict';

  function Choice($group) {
    this.$group = $group;
    this.$mode = $group.find('[name="rbd_cache_mode"]');
    this.$volume = $group.closest('form').find('[name="volume"]');
    this.data = JSON.parse($group.attr('data-rbd-modes'));
    // A value that the server refused stays with its volume.
    this.refused = $group.find('.has-error').length ? this.$volume.val() : null;
    this.shown = null;
    $group.closest('form').on('change click', this.update.bind(this));
    this.update();
  }

  function own(object, name) {
    return Object.prototype.hasOwnProperty.call(object, name)
      ? object[name] : null;
  }

  Choice.prototype.update = function () {
    var id = this.$volume.val();
    if (id === this.shown) {
      return;
    }
    this.shown = id;
    var volume = own(this.data.volumes, id);
    var type = volume ? own(this.data.types, volume.type) || {} : {};
    var note = volume ? type.note || volume.note || '' : '';
    var isRefused = id === this.refused;
    var modes = this.data.lists[type.modes];
    var hasModes = Boolean(volume && modes && !volume.note);
    if (hasModes) {
      this.showModes(modes, isRefused ? this.$mode.val() : volume.mode);
    }
    this.$group.prop({
      hidden: !hasModes && !note && !isRefused,
      disabled: !hasModes && !isRefused
    });
    this.$group.find('[data-rbd-field]')
      .prop('hidden', !hasModes && !isRefused);
    this.$group.find('[data-rbd-note]').text(note).prop('hidden', !note);
  };

  Choice.prototype.showModes = function (modes, current) {
    var listed = modes.map(function (each) { return each[0]; });
    if (current && listed.indexOf(current) < 0) {
      modes = modes.concat([[
        current, interpolate(gettext('%s: not allowed'), [current])]]);
    }
    this.$mode.empty().append(modes.map(function (each) {
      return $('<option>').val(each[0]).text(each[1]);
    })).val(current || '');
  };

  function init(root) {
    $(root).find('fieldset[data-rbd-modes]').each(function () {
      if (!$(this).data('rbdChoice')) {
        $(this).data('rbdChoice', new Choice($(this)));
      }
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {init: init};
}());
