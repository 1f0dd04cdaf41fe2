// SPDX-License-Identifier: Apache-2.0

/*
 * The extra specs of a volume type: suggests values and shows the help for the
 * chosen key, shows the field for the other striping key only if it applies,
 * and offers image features as check boxes and data pools as a list. The form
 * also works without this script.
 */
(function (document, $) {
  'use strict';

  var KEY = 'input.rbd-key';
  var BOXES = '.rbd-feature-boxes';
  var POOLS = '.rbd-data-pools';

  function isOf(key) {
    return function () {
      return this.getAttribute('data-key') === key;
    };
  }

  function follow(input) {
    var $form = $(input).closest('form');
    var key = input.value.trim();
    var $value = $form.find('input[name="value"]').removeAttr('list');
    $form.find('datalist[data-key]').filter(isOf(key)).each(function () {
      $value.attr('list', this.id);
    });
    $form.find(['p[data-key]', BOXES, POOLS].join()).prop('hidden', true)
      .filter(isOf(key)).prop('hidden', false);
    show($form);
    var paired = input.getAttribute('data-pair').split(' ').indexOf(key) !== -1;
    var $partner = $form.find('.rbd-partner');
    $partner.closest('.form-group').toggle(paired);
    if (!paired) {
      $partner.val('');
    }
  }

  function names(text) {
    return text.split(',').map(function (name) {
      return name.trim();
    }).filter(Boolean);
  }

  /* Checks the boxes of the features in the text, or selects the pool. */
  function show($form) {
    var text = $form.find('input[name="value"]').val() || '';
    var chosen = names(text);
    $form.find(POOLS + ' option').each(function () {
      this.selected = this.value === text.trim() || this.value === '';
    });
    $form.find(BOXES + ' input').each(function () {
      this.checked = chosen.indexOf(this.value) !== -1;
    });
  }

  /*
   * Writes the features of the checked boxes. A feature is added with those
   * that it requires and removed with those that require it. Names without a
   * box stay.
   */
  function write(box) {
    var $boxes = $(box).closest(BOXES);
    var $all = $boxes.find('input');
    var again = true;
    function adapt() {
      var other = this;
      names(this.getAttribute('data-requires')).forEach(function (name) {
        var needed = $all.filter(function () {
          return this.value === name;
        })[0];
        if (other.checked && needed && !needed.checked) {
          again = true;
          if (box.checked) {
            needed.checked = true;
          } else {
            other.checked = false;
          }
        }
      });
    }
    while (again) {
      again = false;
      $all.each(adapt);
    }
    var $value = $boxes.closest('form').find('input[name="value"]');
    var known = $all.get().map(function (each) {
      return each.value;
    });
    var required = names($boxes.attr('data-required'));
    var others = names($value.val()).filter(function (name) {
      return known.indexOf(name) === -1 && required.indexOf(name) === -1;
    });
    var checked = $all.filter(':checked').get().map(function (each) {
      return each.value;
    });
    $value.val(required.concat(checked, others).join(','));
  }

  function begin(element) {
    $(element).find(KEY).each(function () {
      follow(this);
    });
    $(element).find([BOXES, POOLS].join()).each(function () {
      show($(this).closest('form'));
    });
  }

  $(document).on('input change', KEY, function () {
    follow(this);
  });
  $(document).on('change', BOXES + ' input', function () {
    write(this);
  });
  $(document).on('change', POOLS + ' select', function () {
    $(this).closest('form').find('input[name="value"]').val(this.value);
  });
  $(document).on('input', 'input[name="value"]', function () {
    show($(this).closest('form'));
  });
  horizon.addInitFunction(function () {
    begin(document);
    horizon.modals.addModalInitFunction(begin);
  });
}(document, jQuery));
