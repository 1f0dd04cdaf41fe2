// SPDX-License-Identifier: Apache-2.0

/* A page of Horizon's, with our scripts in the order in which it loads them. */
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const jsdom = require('jsdom');

const ROOT = path.join(__dirname, '..', '..', '..');
const PACKAGE = path.join(ROOT, 'horizon_volume_opts');
const ENABLED = path.join(PACKAGE, 'enabled', '_3110_rbd_volume_options.py');

const compiled = new Map();

/* The files of ADD_JS_FILES. */
function scripts() {
  const list = /ADD_JS_FILES[^[]*\[str\] = \[([^\]]*)\]/.exec(
    fs.readFileSync(ENABLED, 'utf8'))[1];
  return list.match(/[\w/.-]+\.js/g);
}

/* Run a file in a page. Pages are many, so each file is compiled once. */
function run(file, dom) {
  if (!compiled.has(file)) {
    compiled.set(file, new vm.Script(
      fs.readFileSync(file, 'utf8'), {filename: file}));
  }
  compiled.get(file).runInContext(dom.getInternalVMContext());
}

/*
 * Return the window of a page.
 *
 * options: body, its HTML; before, called with the window when the libraries
 * are there and our scripts are not.
 */
function load(options) {
  const wanted = options || {};
  const dom = new jsdom.JSDOM(
    `<!doctype html><html lang="en"><body>${wanted.body || ''}</body></html>`,
    {runScripts: 'outside-only', url: 'http://horizon.example/'}
  );
  const window = dom.window;
  const inits = [];
  window.STATIC_URL = '/static/';
  window.horizon = {
    addInitFunction: (each) => inits.push(each),
    modals: {addModalInitFunction: () => null}
  };
  for (const library of ['jquery', 'angular/angular.js']) {
    run(require.resolve(library), dom);
  }
  if (wanted.before) {
    wanted.before(window);
  }
  for (const name of scripts()) {
    run(path.join(PACKAGE, 'static', name), dom);
  }
  inits.forEach((each) => each());
  return window;
}

module.exports = {load};
