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
 * The extra specs of a volume type: suggests values for the chosen key, and
 * shows the field for the other striping key only if it applies. The form
 * also works without this script.
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
