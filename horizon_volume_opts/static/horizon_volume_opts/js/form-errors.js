// SPDX-License-Identifier: Apache-2.0

/*
 * Forms with fields of ours that the server refused: scrolls to the first
 * field with an error and focuses it. Stock Horizon focuses the first field of
 * the form, and the error can be outside the window.
 */

horizon.rbdFormErrors = (function () {
  'use strict';

  var OURS = '[data-rbd-part], [data-rbd-note], [data-rbd-form]';

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
    if (!$group.is('[data-rbd-part]') && $errors.length) {
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
