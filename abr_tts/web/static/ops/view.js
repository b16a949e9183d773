/**
 * The operator's figures as tiles and tables. It is given what the server tells at `admin/live` and
 * asks nobody anything.
 */

import { byId, html, svg, write } from '../demo/dom.js';
import { shown } from '../demo/scale.js';

/** @typedef {import('../demo/words.js').Words} Words */
/** @typedef {{ id: string, state: string, age_s: number, voice: string, policy: string, hash: string, bank: string | null, upgrade: string | null, bank_s: number | null, outstanding_bytes: number, rtt_ms: number | null, stalls: number, played_s: Record<string, number> }} Stream */
/** @typedef {{ name: string, hash: string }} Version */
/** What `admin/live` tells. @typedef {{ version: string, up_s: number, connections: number, streams_live: number, streams: Stream[], streams_started: number, played_s: Record<string, number>, stalls: number, stalled_s: number, switches: Record<string, number>, policies: { policy: Version | null, canary: (Version & { share: number }) | null, policy_faults: string[] }, engine: Record<string, number | string> }} Live */

/** Of the engine, what tells something at a glance. */
const ENGINE = 'size ready busy starting waiting said done cancelled faults lost last_reason'.split(' ');

/**
 * Show all of it.
 *
 * @param {Live} live
 * @param {Words} words
 */
export function show(live, words) {
  tiles(live, words);
  streams(live, words);
  bars('rungs', live.played_s, ['of-rung', 'of-seconds', 'of-share'], 1, words);
  bars('switches', live.switches, ['of-reason', 'of-count', 'of-share'], 0, words);
  policies(live, words);
  const figures = ENGINE.map((name) => [words.say(`engine-${name}`), String(live.engine[name] || 0)]);
  if (!live.engine.last_reason) figures.pop();
  table('engine', ['of-figure', 'of-value'], figures, words);
  write(byId('version', HTMLElement), `abr-tts ${live.version}`);
}

/**
 * @param {Live} live
 * @param {Words} words
 */
function tiles({ streams_live, connections, streams_started, stalls, stalled_s, played_s, engine }, words) {
  const heard = total(played_s);
  /** @type {[string, string, string][]} */
  const facts = [
    ['live', String(streams_live), ''],
    ['connections', String(connections), ''],
    ['started', String(streams_started), ''],
    ['heard', duration(heard), ''],
    ['stalls', String(stalls), stalls ? `${shown(stalled_s, 1)} s` : ''],
    ['workers', String(engine.busy), `/ ${engine.ready}`],
  ];
  const list = byId('tiles', HTMLElement);
  if (list.children.length !== facts.length)
    list.replaceChildren(...facts.map(() => html('div', { class: 'card tile' }, html('dt'), html('dd'))));
  facts.forEach(([key, value, unit], n) => {
    const [dt, dd] = list.children[n].children;
    write(dt, words.say(key));
    dd.replaceChildren(value, ' ', html('small', {}, unit));
  });
}

/**
 * @param {Live} live
 * @param {Words} words
 */
function streams(live, words) {
  const heads = 'id state age voice policy bank-rung upgrade bank outstanding rtt stalls heard';
  const rows = live.streams.map((one) => [
    one.id,
    words.say(`state-${one.state}`),
    shown(one.age_s),
    one.voice,
    one.hash ? `${one.policy} ${one.hash.slice(0, 6)}` : one.policy,
    one.bank ?? '–',
    one.upgrade ?? '–',
    shown(one.bank_s, 1),
    String(one.outstanding_bytes),
    shown(one.rtt_ms),
    String(one.stalls),
    Object.entries(one.played_s)
      .map(([rung, seconds]) => `${rung} ${shown(seconds, 1)}`)
      .join(', ') || '–',
  ]);
  const hidden = live.streams_live - live.streams.length;
  if (hidden > 0) rows.push([words.say('more', { count: hidden })]);
  table(
    'streams',
    heads.split(' ').map((name) => `of-${name}`),
    rows,
    words,
  );
}

/**
 * A table of numbers with a bar for each: its share of them all.
 *
 * @param {string} id
 * @param {Record<string, number>} values
 * @param {string[]} heads
 * @param {number} digits
 * @param {Words} words
 */
function bars(id, values, heads, digits, words) {
  const sum = total(values);
  const rows = Object.entries(values)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => [name, shown(value, digits), bar(value / sum)]);
  table(id, heads, rows, words);
}

/** @param {Record<string, number>} values */
function total(values) {
  return Object.values(values).reduce((sum, value) => sum + value, 0);
}

/** @param {number} share */
function bar(share) {
  const size = { class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' };
  return svg('svg', size, svg('rect', { width: Math.max(0.5, 100 * share), height: 10 }));
}

/**
 * @param {Live} live
 * @param {Words} words
 */
function policies({ policies: { policy, canary, policy_faults } }, words) {
  const rows = [];
  if (policy) rows.push([words.say('role-own'), policy.name, policy.hash]);
  if (canary) {
    const share = `${shown(100 * canary.share)} %`;
    rows.push([words.say('role-canary', { share }), canary.name, canary.hash]);
  }
  table('policies', ['of-role', 'of-name', 'of-hash'], rows, words);
  write(byId('faults', HTMLElement), policy_faults.join('; '));
}

/**
 * @param {string} id
 * @param {string[]} heads keys of words.
 * @param {(string | Element)[][]} rows
 * @param {Words} words
 */
function table(id, heads, rows, words) {
  const element = byId(id, HTMLTableElement);
  const head = heads.map((key) => html('th', { scope: 'col' }, words.say(key)));
  element.tHead?.rows[0].replaceChildren(...head);
  const lines = rows.map(([first, ...rest]) =>
    html('tr', {}, html('th', { scope: 'row' }, first), ...rest.map((cell) => html('td', {}, cell))),
  );
  const none = html('td', { class: 'empty', colspan: String(heads.length) }, words.say('nothing'));
  element.tBodies[0].replaceChildren(...(lines.length ? lines : [html('tr', {}, none)]));
}

/**
 * Seconds as people say them.
 *
 * @param {number} seconds
 */
export function duration(seconds) {
  const [days, hours, minutes] = [86_400, 3_600, 60].map((unit) => seconds / unit);
  if (days >= 2) return `${days.toFixed(1)} d`;
  if (hours >= 2) return `${hours.toFixed(1)} h`;
  return minutes >= 2 ? `${minutes.toFixed(1)} min` : `${seconds.toFixed(0)} s`;
}
