// SPDX-License-Identifier: Apache-2.0

/* The form Change Volume Type: what the selected type does to the volume. A
 * data attribute has the sentences, and their numbers for each type. */

horizon.rbdEffects = (function () {
  'use strict';

  function init(root) {
    $(root).find('[data-rbd-effects]').each(function () {
      var $line = $(this);
      var $type = $line.closest('form').find('[name="volume_type"]');
      var data = JSON.parse($line.attr('data-rbd-effects'));
      function update() {
        var type = $type.val();
        // Not `in`: a type can have the same name as a member of Object.
        var known = Object.prototype.hasOwnProperty.call(data.types, type);
        var text = (known ? data.types[type] : []).map(function (number) {
          return data.texts[number];
        }).join(' ');
        if ($line.text() !== text) {
          $line.text(text);
        }
      }
      $line.closest('form').on('change click', update);
      update();
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {init: init};
}());
