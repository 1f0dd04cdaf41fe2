// SPDX-License-Identifier: Apache-2.0

/* The cache mode in the form Attach Volume of an instance: the modes of the
 * selected volume. A data attribute has the modes of the listed volumes. */

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

  /* {modes, note, mode} of the selected volume; null if none is selected. The
   * data has the volumes in the order of the list, without their IDs. */
  Choice.prototype.selected = function (id) {
    var ids = this.$volume.find('option').map(function () {
      return this.value || null;
    }).get();
    var kind = this.data.kinds[this.data.volumes[ids.indexOf(id)]];
    return kind ? {
      modes: kind[0] === null ? null : this.data.lists[kind[0]],
      note: kind[1] === null ? '' : this.data.notes[kind[1]],
      mode: kind[2]
    } : null;
  };

  Choice.prototype.update = function () {
    var id = this.$volume.val();
    if (id === this.shown) {
      return;
    }
    this.shown = id;
    var volume = this.selected(id) || {modes: null, note: '', mode: null};
    var isRefused = id === this.refused;
    var hasModes = Boolean(volume.modes);
    if (hasModes) {
      this.showModes(volume.modes, isRefused ? this.$mode.val() : volume.mode);
    }
    this.$group.prop({
      hidden: !hasModes && !volume.note && !isRefused,
      disabled: !hasModes && !isRefused
    });
    this.$group.find('[data-rbd-field]')
      .prop('hidden', !hasModes && !isRefused);
    this.$group.find('[data-rbd-note]')
      .text(volume.note).prop('hidden', !volume.note);
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
