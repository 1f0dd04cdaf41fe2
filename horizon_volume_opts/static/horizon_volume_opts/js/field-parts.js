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
 * The parts of fields that the server does not send, because they are the same
 * in each page: their help, and the sizes in lists.
 */

horizon.rbdFieldParts = (function () {
  'use strict';

  var rules = horizon.rbdLayout;
  var words = horizon.rbdLayoutWords;

  /* Shows the help of all fields, also of those that the server refused. */
  function explain(root) {
    $(root).find('fieldset.rbd-volume-options [data-rbd-help]')
      .each(function () {
        show(this, '');
      });
    $(root).find('fieldset.rbd-features .checkbox').each(function () {
      showBox(this, '');
    });
    $(root).find('[data-rbd-feature]').each(function () {
      $(this).text(words.featureHelp(this.getAttribute('data-rbd-feature')));
    });
  }

  /* Shows the help of a key, and more text. */
  function show(element, more) {
    var key = $(element).closest('[data-rbd-key]').attr('data-rbd-key');
    $(element).text([words.help(key), more].join(' ').trim());
  }

  /* Shows the help of a feature, and why the user cannot change it. */
  function showBox(box, why) {
    var name = $(box).find('input').val();
    $(box).find('.help-block')
      .text([words.featureHelp(name), why].join(' ').trim());
  }

  /* Fills the lists of sizes, see fill(). */
  function fillSizes($group, offers) {
    [rules.KEYS.objectSize, rules.KEYS.unit].forEach(function (key) {
      fill($group.find('[data-rbd-key="' + key + '"] select'), key, offers);
    });
  }

  /*
   * Fills a list with the sizes that at least one volume type allows. The
   * value of the list stays, also if it is not one of them.
   */
  function fill($list, key, offers) {
    var chosen = $list.val();
    var ranges = Object.keys(offers).map(function (name) {
      return offers[name].options[key];
    }).filter(function (each) {
      // A type that does not offer the key can lack its bounds.
      return each && each.minimum > 0 && each.maximum;
    });
    if (!ranges.length) {
      return;
    }
    var minimum = Math.min.apply(null, ranges.map(function (each) {
      return each.minimum;
    }));
    var maximum = Math.max.apply(null, ranges.map(function (each) {
      return each.maximum;
    }));
    var listed = rules.sizes(minimum, maximum);
    $list.find('option').filter(function () {
      return listed.some(function (each) {
        return each.value === this.value;
      }, this);
    }).remove();
    $list.append(listed.map(function (each) {
      return $('<option>').val(each.value).text(each.text);
    })).val(chosen);
  }

  horizon.addInitFunction(function () {
    explain(document);
    horizon.modals.addModalInitFunction(explain);
  });

  return {
    explain: explain,
    fillSizes: fillSizes,
    show: show,
    showBox: showBox
  };
}());
