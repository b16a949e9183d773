/** The shipped JavaScript keeps the house's rules: a pure core, no eval, short files, true sizes. */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const STATIC = new URL('../../abr_tts/web/static/', import.meta.url);
const read = (name) => readFileSync(new URL(name, STATIC), 'utf8');
const modules = readdirSync(STATIC).filter((name) => name.endsWith('.js'));
const IMPORT = /(?:^|\n)(?:import|export)[^;'"]*?from '([^']+)'/g;
const imported = (name) => [...read(name).matchAll(IMPORT)].map(([, from]) => from);

/** The modules that `index.js` reaches: the pure core. */
function core() {
  const waiting = ['index.js', 'messages.js'];
  const seen = new Set();
  while (waiting.length) {
    const name = waiting.pop();
    if (seen.has(name)) continue;
    seen.add(name);
    waiting.push(...imported(name).map((from) => from.replace('./', '')));
  }
  return [...seen].sort();
}

/** What runs, without comments and strings. */
const code = (name) =>
  read(name).replace(/\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, ' ');

const MOST_LINES = 400;
const CORE_GZIP_BYTES = 40_000;

test('no module is too long, and each says first what it is for', () => {
  for (const name of modules) {
    assert.ok(read(name).split('\n').length <= MOST_LINES, name);
    assert.match(read(name), /^\/\*\*\n \* [^\n]{20}/, name);
  }
});

test('modules import their neighbours alone, by their full names', () => {
  for (const name of modules)
    for (const from of imported(name)) assert.match(from, /^\.\/[a-z0-9_]+\.js$/, name);
});

test('nothing is evaluated from a string', () => {
  for (const name of modules)
    assert.doesNotMatch(code(name), /\beval\s*\(|new Function\b|\bFunction\s*\(/, name);
});

test('the core asks no clock, no chance and nothing that a mini-program lacks', () => {
  for (const name of core()) {
    const found = code(name).match(
      /\b(?:Date|performance|setTimeout|Math\.random|Math\.(?:sin|cos|exp|pow|log)|TextEncoder|TextDecoder|BigInt|WebAssembly|window|globalThis|self|console)\b/,
    );
    assert.equal(found?.[0], undefined, name);
  }
});

test('what makes sound raises nothing to a power, which engines may round in their own ways', () => {
  for (const name of ['sine.js', 'fade.js', 'resample.js', 'decoding.js', 'listener.js'])
    assert.doesNotMatch(code(name), /\*\*/, name);
});

test('the core does not reach the Opus module, which is injected', () =>
  assert.ok(!core().includes('opus.js')));

test(`the whole core is at most ${CORE_GZIP_BYTES} bytes of gzip, comments included`, (context) => {
  const size = gzipSync(core().map(read).join('\n'), { level: 9 }).length;
  context.diagnostic(`${core().length} modules, ${size} bytes`);
  assert.ok(size <= CORE_GZIP_BYTES);
});

test('the package has the licence of the project', () => {
  assert.equal(read('LICENSE'), readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8'));
});
