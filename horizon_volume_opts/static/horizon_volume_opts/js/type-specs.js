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

/*
 * A volume type's extra specs: suggests values for the key that was chosen,
 * and shows the field for the other striping key only where it applies.
 * Without this script both work, with less comfort.
 */
(function (document, $) {
  'use strict';

  var KEY = 'input.rbd-key';

  function follow(input) {
    var $form = $(input).closest('form');
    var key = input.value.trim();
    var $value = $form.find('input[name="value"]').removeAttr('list');
    $form.find('datalist[data-key]').each(function () {
      if (this.getAttribute('data-key') === key) {
        $value.attr('list', this.id);
      }
    });
    var paired = input.getAttribute('data-pair').split(' ').indexOf(key) !== -1;
    var $partner = $form.find('.rbd-partner');
    $partner.closest('.form-group').toggle(paired);
    if (!paired) {
      $partner.val('');
    }
  }

  function begin(element) {
    $(element).find(KEY).each(function () {
      follow(this);
    });
  }

  $(document).on('input change', KEY, function () {
    follow(this);
  });
  horizon.addInitFunction(function () {
    begin(document);
    horizon.modals.addModalInitFunction(begin);
  });
}(document, jQuery));
