/** The demonstration's pure parts: its clock and history, its numbers, its words. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { Arrivals, QUIET_S } from '../../abr_tts/web/static/demo/arrivals.js';
import { History, LADDER, LEAST_S, WINDOW_S } from '../../abr_tts/web/static/demo/history.js';
import {
  GREAT_KBPS,
  LEAST_KBPS,
  TOP,
  axisTop,
  rateText,
  shown,
  sliderKbps,
  sliderPosition,
} from '../../abr_tts/web/static/demo/scale.js';
import { TEXTS as DEMO } from '../../abr_tts/web/static/demo/texts.js';
import { TEXTS as OPS } from '../../abr_tts/web/static/ops/texts.js';

const SILENT = { sent: null, played: null, bank: null, rtt: null, goodput: null, stalls: 0, stalled: false };

/** A history with a sample at each of these seconds. */
function history(seconds, sample = () => ({})) {
  const made = new History();
  for (const at of seconds) made.add(at, { ...SILENT, ...sample(at) });
  return made;
}

test('the clock of the plots runs from the first sample and stands still between speeches', () => {
  const made = history([100, 100.25, 100.5, 500, 500.25]);
  assert.deepEqual(
    made.points.map(({ at }) => at),
    [0, 0.25, 0.5, 1.5, 1.75],
  );
});

test('a gap of two seconds is time that passed, a longer one is a pause', () => {
  assert.equal(history([0, 2]).now, 2);
  assert.equal(history([0, 2.01]).now, 1);
});

test('a minute is kept, of samples and of switches', () => {
  const made = new History();
  made.switched(0, { rank: 1, from: 'opus24', to: 'pcm22', reason: 'it fits' });
  for (let n = 0; n <= WINDOW_S; n++) made.add(n, SILENT);
  assert.equal(made.points.length, WINDOW_S + 1);
  assert.equal(made.switches.length, 1);
  made.add(WINDOW_S + 1, SILENT);
  assert.equal(made.points[0].at, 1);
  assert.equal(made.switches.length, 0);
});

test('the plots show at least twenty seconds and at most a minute', () => {
  assert.deepEqual(history([0]).span, [0, LEAST_S]);
  assert.deepEqual(history(Array.from({ length: 31 }, (_, n) => n)).span, [0, 30]);
  assert.deepEqual(history(Array.from({ length: 101 }, (_, n) => n)).span, [100 - WINDOW_S, 100]);
});

test('runs join equal neighbours, end at a pause and leave out what is not there', () => {
  const rungs = ['opus24', 'opus24', null, 'pcm22', 'pcm22'];
  const made = history([0, 0.5, 1, 1.5, 2], (at) => ({ played: rungs[at * 2] }));
  assert.deepEqual(made.runs('played'), [
    { from: 0, to: 1, value: 'opus24' },
    { from: 1.5, to: 2, value: 'pcm22' },
  ]);
  const paused = history([0, 100], () => ({ sent: 'pcm22' }));
  assert.deepEqual(
    paused.runs('sent').map(({ from, to }) => [from, to]),
    [
      [0, 0],
      [1, 1],
    ],
  );
});

test('nothing is sent once no byte has come for a second, and again with the next one', () => {
  const arrivals = new Arrivals();
  assert.equal(arrivals.note(0, 0), false);
  assert.equal(arrivals.note(500, 0.25), true);
  assert.equal(arrivals.note(500, 0.25 + QUIET_S - 0.01), true);
  assert.equal(arrivals.note(500, 0.25 + QUIET_S), false);
  assert.equal(arrivals.note(501, 1.5), true);
  assert.equal(arrivals.note(501, 9), false);
  assert.equal(arrivals.note(40, 9.25), true, 'another speech begins to count anew');
});

test('rungs have rows in the order of the ladder, unknown ones last', () => {
  const made = history([0], () => ({ sent: 'opus12', played: 'pcm22' }));
  made.switched(0, { rank: 0, from: 'opus24', to: 'flac', reason: '' });
  assert.deepEqual(made.rows, ['pcm22', 'opus24', 'opus12', 'flac']);
});

test('the ladder names every rung that the server has', () => {
  const source = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const named = new Set(source.match(/`(?:pcm|ulaw|opus)\d+k?`/g).map((name) => name.slice(1, -1)));
  for (const name of named) assert.ok(LADDER.includes(name), name);
});

test('the table has one line a second, the newest first', () => {
  const made = history([0, 0.25, 0.5, 1, 1.25], (at) => ({ bank: at }));
  assert.deepEqual(
    made.seconds().map(({ bank }) => bank),
    [1.25, 0.5],
  );
  assert.equal(made.near(0.6).at, 0.5);
  assert.equal(new History().near(3), undefined);
});

test('the slider is dead at one end, without limit at the other, and exact at the usual speeds', () => {
  assert.equal(sliderKbps(0), 0);
  assert.equal(sliderKbps(1), LEAST_KBPS);
  assert.equal(sliderKbps(TOP - 1), GREAT_KBPS);
  assert.equal(sliderKbps(TOP), Infinity);
  for (const kbps of [0, 8, 16, 40, 350, 2000, 5000, Infinity])
    assert.equal(sliderKbps(sliderPosition(kbps)), kbps);
  for (let n = 1; n < TOP; n++) assert.ok(sliderKbps(n + 1) >= sliderKbps(n), n);
});

test('an axis ends at a round number that shows everything', () => {
  assert.deepEqual(
    [
      [0, 50],
      [50, 50],
      [51, 50],
      [201, 1],
      [1000, 1],
      [0.3, 0.1],
    ].map(([most, least]) => axisTop(most, least)),
    [50, 50, 100, 500, 1000, 0.5],
  );
});

test('what is not known is a dash, never a zero', () => {
  assert.deepEqual(
    [null, undefined, NaN, -1, 0, 1.26].map((value) => shown(value, 1)),
    ['–', '–', '–', '–', '0.0', '1.3'],
  );
  assert.deepEqual([40, 999.6, 1000, 2000].map(rateText), [
    '40 kbit/s',
    '1000 kbit/s',
    '1 Mbit/s',
    '2 Mbit/s',
  ]);
});

for (const [page, texts, html, folder] of [
  ['demonstration', DEMO, 'index.html', 'demo/'],
  ["operator's page", OPS, 'ops.html', 'ops/'],
]) {
  const file = (name) => readFileSync(new URL(`../../abr_tts/web/static/${name}`, import.meta.url), 'utf8');

  test(`the ${page} says the same in both languages, with the same values`, () => {
    assert.deepEqual(Object.keys(texts.zh), Object.keys(texts.en));
    const values = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [key, text] of Object.entries(texts.en))
      assert.deepEqual(values(texts.zh[key]), values(text), key);
  });

  test(`the ${page} marks no text that has no words, and its own text is the English one`, () => {
    const marked = [...file(html).matchAll(/data-(?:word|label)="([^"]+)"/g)].map(([, key]) => key);
    assert.ok(marked.length > 8);
    for (const key of marked) assert.ok(texts.en[key], key);
    for (const [, key, text] of file(html).matchAll(/data-word="([^"]+)"[^>]*>([^<]+)</g))
      assert.equal(text.toLowerCase(), texts.en[key].toLowerCase(), key);
  });

  test(`the ${page} has no word that nobody says`, () => {
    const names = [
      'main.js',
      ...(folder === 'demo/' ? ['voice.js', 'plot.js', 'strip.js', 'link.js'] : ['view.js']),
    ];
    const said = file(html) + names.map((name) => file(folder + name)).join('');
    const made = /^(?:status|log|layer|engine|state|of)-/;
    for (const key of Object.keys(texts.en).filter((name) => !made.test(name)))
      assert.ok(said.includes(`'${key}'`) || said.includes(`"${key}"`), key);
  });
}

const STATIC = new URL('../../abr_tts/web/static/', import.meta.url);
const read = (name) => readFileSync(new URL(name, STATIC), 'utf8');
const FILES = ['demo/', 'ops/'].flatMap((folder) =>
  readdirSync(new URL(folder, STATIC)).map((name) => folder + name),
);

test('no file of the pages is too long, and each says first what it is for', () => {
  assert.ok(FILES.length > 15);
  for (const name of FILES) {
    assert.ok(read(name).split('\n').length <= 400, name);
    assert.match(read(name), name.endsWith('.css') ? /^\/\* [^\n]{20}/ : /^\/\*\*(?:\n \*)? [^\n]{20}/, name);
  }
});

test('the pages make no markup and no code from strings, and import nothing from elsewhere', () => {
  for (const name of FILES) {
    assert.doesNotMatch(
      read(name),
      /\binnerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      name,
    );
    for (const [, from] of read(name).matchAll(/\bfrom '([^']+)'/g))
      assert.match(from, /^\.\.?\/[a-z/]+\.js$/, name);
    assert.doesNotMatch(read(name), /@import|url\(/, name);
  }
});

/** Relative luminance of `#rrggbb` (WCAG 2.2). */
function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

test('the measure of contrast is the one of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.ok(Math.abs(contrast('#777777', '#ffffff') - 4.48) < 0.01);
});

for (const [scheme, part] of ['light', 'dark'].entries()) {
  test(`in the ${part} scheme text has a contrast of 4.5 and lines of 3, as WCAG 2.2 AA asks`, () => {
    const blocks = [...read('demo/look.css').matchAll(/:root \{([^}]+)\}/g)].map(([, body]) => body);
    assert.equal(blocks.length, 2);
    const full = (hex) =>
      hex.length === 4 ? `#${[...hex.slice(1)].map((digit) => digit + digit).join('')}` : hex;
    const colours = Object.fromEntries(
      [...blocks[scheme].matchAll(/--([\w-]+): (#[0-9a-f]+);/g)].map(([, name, hex]) => [name, full(hex)]),
    );
    for (const ground of ['card', 'page', 'field'])
      for (const ink of ['ink', 'soft', 'faint', 'bad', 'accent'])
        assert.ok(contrast(colours[ink], colours[ground]) >= 4.5, `${ink} on ${ground}`);
    assert.ok(contrast(colours['accent-ink'], colours.accent) >= 4.5);
    for (const line of ['blue', 'aqua']) assert.ok(contrast(colours[line], colours.card) >= 3, line);
  });
}
