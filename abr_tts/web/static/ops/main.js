/**
 * The operator's page: asks the server every second what it does, and shows it. The admin key is kept
 * until the tab is closed; without one the server tells nothing.
 */

import { ask, byId, write } from '../demo/dom.js';
import { Words } from '../demo/words.js';
import { TEXTS } from './texts.js';
import { duration, show } from './view.js';

const KEY = 'abr-tts.admin';

/** Milliseconds between two looks; a hidden page does not look. */
const EVERY_MS = 1000;

const words = new Words(TEXTS);
const status = byId('status', HTMLElement);
const form = byId('key-form', HTMLFormElement);
const field = byId('key', HTMLInputElement);
const view = byId('view', HTMLElement);
const hold = byId('hold', HTMLButtonElement);

let key = sessionStorage.getItem(KEY) ?? '';
let held = false;
/** What was seen last, and when. @type {{ live: import('./view.js').Live, time: string } | null} */
let seen = null;

/**
 * @param {string} name
 * @param {Record<string, string>} [values]
 * @param {boolean} [bad]
 */
function say(name, values = {}, bad = false) {
  write(status, words.say(name, values));
  status.classList.toggle('bad', bad);
}

/** Ask once, if there is a key to ask with; whatever comes of it is shown. */
async function look() {
  if (!key) {
    form.hidden = false;
    return say('key-wanted');
  }
  const answer = await ask('admin/live', key);
  if (answer.ok) {
    const time = new Date().toLocaleTimeString(document.documentElement.lang);
    seen = { live: await answer.json(), time };
    sessionStorage.setItem(KEY, key);
    return render();
  }
  seen = null;
  view.hidden = hold.hidden = true;
  form.hidden = answer.status !== 401;
  if (answer.status === 403) say('key-none', {}, true);
  else if (answer.status === 401) say('key-wrong', {}, true);
  else say('status-lost', { why: `HTTP ${answer.status}` }, true);
}

function render() {
  if (!seen) return;
  form.hidden = true;
  view.hidden = hold.hidden = false;
  show(seen.live, words);
  write(hold, words.say(held ? 'go' : 'hold'));
  if (held) say('status-held', { time: seen.time });
  else say('status-live', { up: duration(seen.live.up_s), time: seen.time });
}

/** Look again and again, one question at a time. */
async function watch() {
  if (!document.hidden && !held && form.hidden) {
    try {
      await look();
    } catch (error) {
      say('status-lost', { why: String(error) }, true);
    }
  }
  setTimeout(watch, EVERY_MS);
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  key = field.value.trim();
  field.value = '';
  form.hidden = true;
});
hold.addEventListener('click', () => {
  held = !held;
  render();
});
words.addEventListener('change', () => {
  if (seen) render();
  else if (!key) say('key-wanted');
});
words.start();
void watch();
