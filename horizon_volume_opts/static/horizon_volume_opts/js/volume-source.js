// SPDX-License-Identifier: Apache-2.0

/*
 * The source of a new volume in the Create Volume form. The volume gets the
 * type of a source volume or snapshot, which a request to our route returns.
 */

horizon.rbdVolumeSource = (function () {
  'use strict';

  var FIELDS = {
    volume_source: 'volume',
    snapshot_source: 'snapshot',
    image_source: 'image'
  };

  /* What is known about the source. */
  var STATUS = {
    known: 'known',
    // The user has not selected the volume or the snapshot yet.
    open: 'open',
    pending: 'pending',
    failed: 'failed'
  };

  /* url: the start of the addresses of sources. done: called after each
   * response. */
  function Source($form, url, done) {
    var source = this;
    this.$form = $form;
    this.url = url;
    this.done = done;
    this.found = {};
    this.pending = {};
    this.failed = {};
    // A failure can be temporary. A look-up that failed is repeated when the
    // user changes something, not for each click.
    $form.on('change', function () {
      source.failed = {};
    });
  }

  Source.prototype.field = function (name) {
    return this.$form.find('[name="' + name + '"]');
  };

  /* {kind, id} of the source of the volume; null for an empty volume. The id
   * is '' if no source is chosen yet. */
  Source.prototype.chosen = function () {
    var chosen = this.field('volume_source_type').val();
    var source = this;
    var name = Object.keys(FIELDS).filter(function (each) {
      var $field = source.field(each);
      return $field.length && (chosen ? chosen === each : $field.val());
    })[0];
    return name ? {kind: FIELDS[name], id: this.field(name).val()} : null;
  };

  /*
   * {status, isImage, type, made} of the new volume.
   *
   * type: the name of its type; null while it is not known. made: the data
   * about the RBD image of the source; null if there is none.
   */
  Source.prototype.read = function () {
    var chosen = this.chosen();
    var isImage = Boolean(chosen && chosen.kind === 'image');
    if (!chosen || isImage) {
      return this.state(STATUS.known, {
        volume_type: this.field('type').val()
      }, isImage);
    }
    if (!chosen.id) {
      return this.state(STATUS.open);
    }
    var path = chosen.kind + '/' + encodeURIComponent(chosen.id) + '/';
    if (path in this.found) {
      return this.state(STATUS.known, this.found[path]);
    }
    if (path in this.failed) {
      return this.state(STATUS.failed);
    }
    this.lookUp(path);
    return this.state(STATUS.pending);
  };

  Source.prototype.state = function (status, found, isImage) {
    return {
      status: status,
      isImage: Boolean(isImage),
      type: found ? found.volume_type : null,
      made: found && found.made || null
    };
  };

  Source.prototype.lookUp = function (path) {
    var source = this;
    if (path in this.pending) {
      return;
    }
    this.pending[path] = true;
    $.ajax({url: this.url + path, dataType: 'json'}).then(
      function (found) { source.found[path] = found || {}; },
      function () { source.failed[path] = true; }
    ).always(function () {
      delete source.pending[path];
      source.done();
    });
  };

  return {STATUS: STATUS, Source: Source};
}());
