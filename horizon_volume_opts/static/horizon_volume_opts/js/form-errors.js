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
 * Forms with fields of ours that the server refused: scrolls to the first
 * field with an error and focuses it. Stock Horizon focuses the first field of
 * the form, and the error can be outside the window.
 */

horizon.rbdFormErrors = (function () {
  'use strict';

  var OURS = '[data-rbd-field], [data-rbd-note], [data-rbd-form]';

  /* Link the error texts of a stock field to it, in addition to its help.
   * Texts inside a widget are not errors. */
  function describe($group, $control) {
    var ids = ($control.attr('aria-describedby') || '').split(' ');
    var $errors = $group.children('.help-block');
    $errors.each(function (number) {
      this.id = this.id || $control.attr('id') + '_error_' + number;
      if (ids.indexOf(this.id) < 0) {
        ids.push(this.id);
      }
    });
    if (!$group.is('[data-rbd-field]') && $errors.length) {
      $control.attr({
        'aria-describedby': ids.join(' ').trim(),
        'aria-invalid': 'true'
      });
    }
  }

  function show($form) {
    var $groups = $form.find('.form-group.has-error').filter(function () {
      return !$(this).find('.form-group.has-error').length;
    });
    $groups.each(function () {
      describe($(this), $(this).find(':input').first());
    });
    var $first = $groups.find(':input:enabled:not([type="hidden"])')
      .filter(function () {
        return !$(this).closest('[hidden]').length;
      }).first();
    if ($first.length) {
      $first[0].scrollIntoView({block: 'center'});
      $first[0].focus({preventScroll: true});
    }
    return $first;
  }

  function init(root) {
    $(root).find('form').filter(function () {
      return $(this).is(OURS) || $(this).find(OURS).length;
    }).each(function () {
      var $form = $(this);
      show($form);
      // Bootstrap focuses the dialog itself when it is there.
      $form.closest('.modal').one('shown.bs.modal', function () {
        show($form);
      });
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {init: init};
}());
