// SPDX-License-Identifier: Apache-2.0

/*
 * A part of a form that depends on other fields. The server knows all rules
 * and texts: when a field changes, the script requests the part for the values
 * of the form, and shows the response. It never sends the form.
 */

horizon.rbdGroup = (function () {
  'use strict';

  /* Milliseconds after a key was pressed. */
  var DELAY = 400;

  /*
   * Optional: values returns [{name, value}] for fields of a form that is not
   * around the group; done is called with each response, or with null if there
   * is none.
   */
  function Group($group, options) {
    var group = this;
    this.$group = $group;
    this.$content = $group.find('[data-rbd-content]');
    this.$failed = $group.find('[data-rbd-failed]');
    this.url = $group.attr('data-rbd-group');
    this.names = ($group.attr('data-rbd-names') || '').split(' ');
    this.options = options || {};
    this.$form = $group.closest('form');
    this.parts = this.readParts(this.$content);
    this.show();
    // What the content belongs to; another source of values has none yet.
    this.sent = this.options.values ? null : this.values();
    (this.$form.length ? this.$form : $group).on(
      'change input click', function (event) {
        group.update(event.target.name, event.type === 'input' ? DELAY : 0);
      });
    if (this.options.values) {
      this.update('', 0);
    }
  }

  Group.prototype.values = function () {
    var names = this.names;
    var ours = this.$group.find(':input').serializeArray();
    var others = this.options.values ? this.options.values()
      : this.$form.find(':input').filter(function () {
        return names.indexOf(this.name) >= 0;
      }).serializeArray();
    return $.param(others.concat(ours));
  };

  Group.prototype.update = function (changed, delay) {
    var group = this;
    var values = this.values();
    if (values === this.sent) {
      return;
    }
    this.sent = values;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(function () {
      group.ask(values, changed);
    }, delay);
  };

  Group.prototype.ask = function (values, changed) {
    var group = this;
    var data = values + '&' + $.param({changed: changed || ''});
    $.ajax({url: this.url + '&' + data, dataType: 'json'}).then(
      function (response) { group.take(values, response); },
      function () { group.take(values, null); }
    );
  };

  /* Show a response, unless it is for former values. */
  Group.prototype.take = function (values, response) {
    if (values !== this.values()) {
      // Repeated now: a field can have changed without an event.
      this.update('', 0);
      return;
    }
    this.$failed.prop('hidden', Boolean(response));
    if (response) {
      this.fill(response.html);
    } else {
      // The same values are tried again.
      this.sent = null;
    }
    this.show();
    if (response) {
      // What the server proposed needs no other request.
      this.sent = this.values();
    }
    if (this.options.done) {
      this.options.done(response);
    }
  };

  Group.prototype.show = function () {
    this.$group.prop({
      hidden: !this.$content.children().length && this.$failed.prop('hidden'),
      disabled: false
    });
  };

  Group.prototype.readParts = function ($content) {
    var parts = {};
    $content.find('[data-rbd-part]').each(function () {
      parts[this.id] = this.outerHTML;
    });
    return parts;
  };

  /* Replace only what has changed, so that an open list stays open. */
  Group.prototype.fill = function (html) {
    var group = this;
    // In another document: nothing in it is loaded or run.
    var $new = $('<div>').append($.parseHTML(html));
    var parts = this.readParts($new);
    var focused = document.activeElement;
    var caret = focused && $.contains(this.$group[0], focused) &&
      focused.type === 'text' ? focused.selectionStart : null;
    var names = Object.keys(parts).join();
    if (!names || names !== Object.keys(this.parts).join()) {
      var isOpen = this.$content.children('details').prop('open');
      this.$content.empty().append($new.contents());
      if (isOpen) {
        this.$content.children('details').prop('open', true);
      }
    } else {
      Object.keys(parts).forEach(function (id) {
        if (parts[id] !== group.parts[id]) {
          group.$content.find('[id="' + id + '"]')
            .replaceWith($new.find('[id="' + id + '"]'));
        }
      });
    }
    this.parts = parts;
    this.focus(focused && focused.id, caret);
  };

  Group.prototype.focus = function (id, caret) {
    var element = id && this.$content.find('[id="' + id + '"]')[0];
    if (element && element !== document.activeElement) {
      element.focus({preventScroll: true});
      if (caret !== null) {
        element.setSelectionRange(caret, caret);
      }
    }
  };

  function init(root) {
    $(root).find('form [data-rbd-group]').each(function () {
      if (!$(this).data('rbdContent')) {
        $(this).data('rbdContent', new Group($(this)));
      }
    });
  }

  horizon.addInitFunction(function () {
    init(document);
    horizon.modals.addModalInitFunction(init);
  });

  return {Group: Group, init: init};
}());
