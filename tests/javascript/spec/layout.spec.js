// SPDX-License-Identifier: Apache-2.0

'use strict';

const page = require('./page');

const CASES = page.read('layout-cases.json');

describe('The rules of layouts', () => {
  const rules = page.load().horizon.rbdLayout;
  const KEYS = rules.KEYS;

  /* What the server says about a type, of the defaults of a case. */
  function offerOf(given, limits) {
    const options = {};
    for (const key of Object.keys(KEYS)) {
      const found = (given.defaults || {})[KEYS[key]] || [null, null];
      options[KEYS[key]] = {default: found[0], default_from: found[1]};
    }
    options[KEYS.objectSize].minimum = limits.min_object_size;
    options[KEYS.objectSize].maximum_objects = limits.max_objects;
    options[KEYS.count].maximum = limits.max_stripe_count;
    return {options, require_whole_stripes: limits.require_whole_stripes};
  }

  function chosenOf(given) {
    const texts = given.chosen || {};
    const map = texts[KEYS.map];
    return {
      objectSize: rules.parseSize(texts[KEYS.objectSize]),
      unit: rules.parseSize(texts[KEYS.unit]),
      count: rules.parseCount(texts[KEYS.count]),
      objectMap: map ? map === 'true' : null
    };
  }

  function problemOf(given) {
    const offer = offerOf(
      given, Object.assign({}, CASES.limits, given.limits));
    const source = given.source || {};
    const layout = rules.resolve(chosenOf(given), offer.options, {
      made: source.made || null, isImage: Boolean(source.is_image)
    });
    return rules.problem(
      given.gib * rules.GIB, layout, rules.limitsOf(offer));
  }

  for (const each of CASES.problems) {
    it(`find ${each.code || 'nothing'}: ${each.name}`, () => {
      expect(problemOf(each)).toBe(each.code);
    });
  }

  it('use the words of the server', () => {
    const words = CASES.words;
    expect(Object.values(rules.CODES).sort()).toEqual(words.codes.sort());
    expect(Object.values(rules.ORIGINS).sort()).toEqual(words.origins.sort());
    expect(Object.values(KEYS).sort()).toEqual(words.keys.sort());
  });

  it('use the numbers of the server', () => {
    for (const name of Object.keys(CASES.numbers)) {
      expect(rules[name]).withContext(name).toBe(CASES.numbers[name]);
    }
  });

  it('list no sizes without bounds', () => {
    for (const [minimum, maximum] of [
      [0, 4096], [-4096, 4096], [NaN, 4096], [0 / 0, 0 / 0],
      [4096, Infinity]
    ]) {
      expect(rules.sizes(minimum, maximum)).toEqual([]);
    }
  });

  it('count objects', () => {
    for (const each of CASES.object_count) {
      const layout = {
        objectSize: each.object_size,
        unit: each.stripe_unit,
        count: each.stripe_count
      };
      const said = JSON.stringify(each);
      expect(rules.objectCount(each.size, layout))
        .withContext(said).toBe(each.objects);
      expect(rules.isStriped(layout)).withContext(said).toBe(each.striped);
    }
  });

  it('count objects of a layout without striping', () => {
    const layout = {objectSize: 4194304, unit: null, count: null};
    expect(rules.objectCount(rules.GIB + 1, layout)).toBe(257);
  });

  it('are quiet about limits that an older server does not say', () => {
    const offer = offerOf({}, {require_whole_stripes: true});
    const layout = rules.resolve({
      objectSize: 4096, unit: 4096, count: 1000, objectMap: null
    }, offer.options, {made: null, isImage: false});
    expect(rules.problem(1000 * 4096, layout, rules.limitsOf(offer)))
      .toBe(null);
  });
});

describe('Sizes', () => {
  const rules = page.load().horizon.rbdLayout;

  it('are parsed', () => {
    for (const [text, expected] of CASES.parse_size) {
      expect(rules.parseSize(text))
        .withContext(JSON.stringify(text)).toBe(expected);
    }
  });

  it('are none where there is no text', () => {
    expect(rules.parseSize(null)).toBe(null);
    expect(rules.parseCount(null)).toBe(null);
  });

  it('are written', () => {
    for (const [bytes, expected] of CASES.format_size) {
      expect(rules.sizeText(bytes)).toBe(expected.replace(' ', '\u00a0'));
    }
  });

  it('are written with a count for striping', () => {
    const layout = {objectSize: 4194304, unit: 65536, count: 8};
    expect(rules.stripingText(layout))
      .toBe('64\u00a0KiB\u00a0×\u00a08');
    expect(rules.stripingText({objectSize: 65536, unit: 65536, count: 1}))
      .toBe('');
  });

  it('have counts beside them', () => {
    for (const [text, expected] of CASES.parse_count) {
      expect(rules.parseCount(text))
        .withContext(JSON.stringify(text)).toBe(expected);
    }
  });
});
