/**
 * The demonstration: a text is spoken, and the page shows how its sound follows the network.
 *
 * This file joins the parts; each knows its own corner of the page and none another. The player is the
 * one that any page may use.
 */

import { Player, WebAudioSink } from '../player.js';
import { Arrivals } from './arrivals.js';
import { download } from './decisions.js';
import { ask, byId, write } from './dom.js';
import { History } from './history.js';
import { LinkControl } from './link.js';
import { Log } from './log.js';
import { Plot } from './plot.js';
import { shown } from './scale.js';
import { Spectrogram, tapped } from './spectrogram.js';
import { Strip } from './strip.js';
import { TEXTS } from './texts.js';
import { Values } from './values.js';
import { Voice } from './voice.js';
import { Words } from './words.js';

/** Where the browser keeps the API key until the tab is closed. */
const KEY = 'abr-tts.key';

const words = new Words(TEXTS);
const history = new History();
const log = new Log(byId('log', HTMLElement));
const strip = new Strip(byId('strip', HTMLElement), history, words);
const plots = {
  bank: new Plot(
    byId('plot-bank', HTMLElement),
    { name: 'bank', unit: 's', digits: 1, least: 5 },
    history,
    words,
  ),
  rtt: new Plot(
    byId('plot-rtt', HTMLElement),
    { name: 'rtt', unit: 'ms', digits: 0, least: 50 },
    history,
    words,
  ),
  goodput: new Plot(
    byId('plot-goodput', HTMLElement),
    { name: 'goodput', unit: 'kbit/s', digits: 0, least: 50 },
    history,
    words,
  ),
};
const values = new Values(byId('values', HTMLDetailsElement), history);
const arrivals = new Arrivals();
const spectrogram = new Spectrogram(byId('spectrogram', HTMLElement));

let key = sessionStorage.getItem(KEY) ?? '';
/** Whether anything is played now. */
let sounding = false;
/** When the last figures came, milliseconds. */
let heardAt = 0;

/** @returns {Promise<import('./voice.js').Facts>} */
async function facts() {
  const answer = await ask('page.json', key);
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer.json();
}

function draw() {
  strip.draw();
  for (const plot of Object.values(plots)) plot.draw();
  values.draw();
}

/** @param {any} stats as the player tells them. */
function take(stats) {
  sounding = stats.state === 'playing';
  heardAt = performance.now();
  const arriving = arrivals.note(stats.receivedBytes, heardAt / 1000);
  history.add(heardAt / 1000, {
    sent: arriving ? stats.rungSent : null,
    played: sounding ? stats.rungPlayed : null,
    bank: stats.bankMs / 1000,
    rtt: stats.rttMs !== null && stats.rttMs >= 0 ? stats.rttMs : null,
    goodput: stats.goodputKbps !== null && stats.goodputKbps >= 0 ? stats.goodputKbps : null,
    stalls: stats.stalls,
    stalled: stats.state === 'stalled',
  });
  tile('heard', (sounding && stats.rungPlayed) || '–', '');
  tile('bank', shown(stats.bankMs / 1000, 1), 's');
  tile('rtt', shown(stats.rttMs), 'ms');
  tile('goodput', shown(stats.goodputKbps), arriving ? 'kbit/s' : words.say('idle'));
  byId('tile-goodput', HTMLElement).classList.toggle('idle', !arriving);
  tile('stalls', String(stats.stalls), stats.stallMs ? `${(stats.stallMs / 1000).toFixed(1)} s` : '');
  draw();
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} unit
 */
function tile(name, value, unit) {
  const element = byId(`tile-${name}`, HTMLElement);
  const small = document.createElement('small');
  small.textContent = value === '–' ? '' : unit;
  element.replaceChildren(value, ' ', small);
}

/** The plots follow `stats`, four a second; the spectrogram follows the screen. @param {number} at milliseconds. */
function onFrame(at) {
  if (at - heardAt < 1000)
    spectrogram.draw(history.now + Math.max(0, at - heardAt) / 1000, history.span, sounding);
  requestAnimationFrame(onFrame);
}

/** @param {[number, number] | null} band where the bank should be, in seconds. */
function showBand(band) {
  plots.bank.band = band;
  if (!band) return;
  const entry = byId('band', HTMLElement);
  const [low, high] = band.map((seconds) => shown(seconds));
  const say = () =>
    write(/** @type {Element} */ (entry.querySelector('span')), words.say('band', { low, high }));
  entry.hidden = false;
  words.addEventListener('change', say);
  say();
}

/** @param {import('./voice.js').Facts} known */
function openLink(known) {
  byId('link-controls', HTMLElement).hidden = false;
  byId('link-off', HTMLElement).hidden = true;
  const link = new LinkControl(words, () => key, known.most_kbps ?? 0);
  link.addEventListener('settled', (event) =>
    log.add(words.say('log-link', { rate: /** @type {CustomEvent} */ (event).detail })),
  );
  link.addEventListener('failed', (event) =>
    log.add(words.say('link-failed', { why: /** @type {CustomEvent} */ (event).detail }), true),
  );
  if (known.allowed) void link.send();
  return link;
}

/**
 * The button that downloads the decisions of the last speech.
 *
 * @param {Voice} voice
 */
function offerDecisions(voice) {
  const button = byId('decisions', HTMLButtonElement);
  button.hidden = false;
  let stream = '';
  voice.addEventListener('over', (event) => {
    stream = /** @type {CustomEvent} */ (event).detail.id;
    button.disabled = false;
  });
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      await download(stream, key);
    } catch (error) {
      log.add(words.say('decisions-none', { why: /** @type {Error} */ (error).message }), true);
    }
    button.disabled = false;
  });
}

/**
 * Ask for the key where one is needed, and begin again with it.
 *
 * @param {Voice} voice
 * @param {LinkControl | null} link
 */
function askForKey(voice, link) {
  const form = byId('key-form', HTMLFormElement);
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    key = byId('key', HTMLInputElement).value.trim();
    const known = await facts();
    if (!known.allowed) return log.add(words.say('key-needed'), true);
    sessionStorage.setItem(KEY, key);
    form.hidden = true;
    voice.know(known);
    void link?.send();
  });
}

async function main() {
  words.addEventListener('change', draw);
  words.start();
  const known = await facts();
  write(byId('version', HTMLElement), `abr-tts ${known.version}`);
  showBand(known.bank_s);
  for (const rung of known.rungs) history.rungs.add(rung);
  const link = known.demo ? openLink(known) : null;
  const worklet = new URL('../worklet.js', import.meta.url);
  const Context = 'AudioContext' in globalThis ? tapped((node) => spectrogram.listen(node)) : undefined;
  const voice = new Voice(words, known, () => {
    const sink = new WebAudioSink({ worklet, Context });
    return new Player(link?.path ?? known.stream, { token: key || undefined, sink });
  });
  voice.addEventListener('stats', (event) => take(/** @type {CustomEvent} */ (event).detail));
  voice.addEventListener('told', (event) => {
    const { text, bad } = /** @type {CustomEvent} */ (event).detail;
    log.add(text, bad);
  });
  voice.addEventListener('switch', (event) => {
    const { text, ...change } = /** @type {CustomEvent} */ (event).detail;
    history.switched(performance.now() / 1000, change);
    write(byId('last-switch', HTMLElement), text);
  });
  voice.addEventListener('over', () => {
    sounding = false;
    for (const name of ['heard', 'bank', 'goodput']) tile(name, '–', '');
  });
  if (known.demo) offerDecisions(voice);
  if (!known.allowed) askForKey(voice, link);
  new ResizeObserver(draw).observe(document.body);
  requestAnimationFrame(onFrame);
  draw();
}

main().catch((error) => {
  const status = byId('status', HTMLElement);
  status.classList.add('bad');
  write(status, words.say('status-player', { why: String(error) }));
});
