/**
 * The card that speaks: text, voice and policy, the three buttons, and the line that says how it goes.
 *
 * It owns the player and the one speech that is under way; whoever wants to see it working listens to
 * its events: `stats`, `switch` and `told` {text, bad} for the log, `began` and `over` {id}.
 */

import { byId, html, write } from './dom.js';

/** @typedef {import('../player.js').Player} Player */
/** @typedef {import('../player.js').Speech} Speech */
/** @typedef {import('./words.js').Words} Words */
/** What the server says of itself at `page.json`. @typedef {{ version: string, stream: string, needs_key: boolean, allowed: boolean, voices: { name: string, languages: string[], description: string }[], policies: string[], rungs: string[], bank_s: [number, number] | null, text_chars: number, demo?: boolean, most_kbps?: number }} Facts */

export class Voice extends EventTarget {
  #text = byId('text', HTMLTextAreaElement);
  #voice = byId('voice', HTMLSelectElement);
  #policy = byId('policy', HTMLSelectElement);
  #play = byId('play', HTMLButtonElement);
  #pause = byId('pause', HTMLButtonElement);
  #stop = byId('stop', HTMLButtonElement);
  #status = byId('status', HTMLElement);
  #words;
  #facts;
  #make;
  /** @type {Player | null} */
  #player = null;
  /** @type {Speech | null} */
  #speech = null;
  #paused = false;
  #said = 'status-ready';
  #sample = '';

  /**
   * @param {Words} words
   * @param {Facts} facts
   * @param {() => Player} make a player, which connects when it is asked to speak.
   */
  constructor(words, facts, make) {
    super();
    this.#words = words;
    this.#facts = facts;
    this.#make = make;
    this.#play.addEventListener('click', () => this.#begin());
    this.#pause.addEventListener('click', () => this.#turn());
    this.#stop.addEventListener('click', () => this.#end());
    document.addEventListener('keydown', (event) => this.#onKey(event));
    words.addEventListener('change', () => this.#translate());
    this.know(facts);
  }

  /**
   * What the server says of itself, which may be more once it has been given a key.
   *
   * @param {Facts} facts
   */
  know(facts) {
    this.#facts = facts;
    this.#player?.close();
    this.#player = null;
    fill(
      this.#policy,
      facts.policies.map((name) => ({ value: name, text: name })),
    );
    const voices = facts.voices.map(({ name, languages }) => ({
      value: name,
      text: `${name} · ${languages[0] ?? ''}`,
    }));
    fill(this.#voice, voices);
    this.#translate();
  }

  #translate() {
    const sample = this.#words.say('sample');
    if (this.#text.value === this.#sample) this.#text.value = sample;
    this.#sample = sample;
    write(this.#voice.options[0], this.#words.say('voice-any'));
    write(this.#policy.options[0], this.#words.say('policy-own'));
    this.#show();
  }

  // ---- what the listener wants

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !this.#speech) this.#begin();
    else if (event.key === 'Escape' && this.#speech) this.#end();
  }

  #begin() {
    const text = this.#text.value.trim();
    const count = Array.from(text).length;
    if (!text) return this.#fail('status-empty');
    if (count > this.#facts.text_chars)
      return this.#fail('status-long', { count, most: this.#facts.text_chars });
    this.#player ??= this.#listen(this.#make());
    const wishes = { voice: this.#voice.value || undefined, policy: this.#policy.value || undefined };
    const speech = this.#player.speak(text, wishes);
    this.#speech = speech;
    this.#paused = false;
    this.#follow(speech);
    this.#say('status-connecting');
    this.dispatchEvent(new CustomEvent('began', { detail: { id: speech.id } }));
  }

  #turn() {
    if (!this.#speech) return;
    if (this.#paused) this.#speech.resume();
    else this.#speech.pause();
    this.#paused = !this.#paused;
    this.#say(this.#paused ? 'status-paused' : 'status-speaking');
  }

  #end() {
    this.#speech?.stop();
  }

  // ---- what the player tells

  /** @param {Player} player */
  #listen(player) {
    for (const name of ['connecting', 'open', 'closed', 'locked', 'unlocked'])
      player.addEventListener(name, () => this.#tell(`log-${name}`));
    on(player, 'reconnecting', ({ attempt, inMs }) =>
      this.#tell('log-reconnecting', { attempt, ms: Math.round(inMs) }),
    );
    on(player, 'error', (detail) => this.#fault(detail));
    on(player, 'stats', (detail) => this.dispatchEvent(new CustomEvent('stats', { detail })));
    return player;
  }

  /** @param {Speech} speech */
  #follow(speech) {
    on(speech, 'start', () => {
      this.#say(this.#paused ? 'status-paused' : 'status-speaking');
      this.#tell('log-start');
    });
    on(speech, 'switch', (detail) => this.#switched(detail));
    let last = '';
    on(speech, 'played', ({ rung: to }) => {
      if (last) this.#tell('log-heard', { from: last, to });
      last = to;
    });
    on(speech, 'stall', () => {
      this.#say('status-stalled');
      this.#tell('log-stall', {}, true);
    });
    on(speech, 'resumed', ({ ms }) => {
      this.#say('status-speaking');
      this.#tell('log-resumed', { ms: Math.round(ms) });
    });
    on(speech, 'end', ({ report }) => this.#over(speech, report.reason === 'done' ? 'done' : 'stopped'));
    on(speech, 'error', (detail) => {
      this.#fault(detail);
      if (detail.scope !== 'nothing') this.#over(speech, null);
    });
  }

  /** @param {{ rank: number, from: string, to: string, reason: string }} change */
  #switched({ rank, from, to, reason }) {
    const layer = this.#words.say(`layer-${rank}`);
    const text = this.#words.say('log-switch', { layer, from, to, why: reason });
    this.dispatchEvent(new CustomEvent('told', { detail: { text, bad: false } }));
    this.dispatchEvent(new CustomEvent('switch', { detail: { rank, from, to, reason, text } }));
  }

  /** @param {{ code: string, message: string }} fault */
  #fault({ code, message }) {
    this.#fail('log-error', { code, message });
    this.#tell('log-error', { code, message }, true);
  }

  /**
   * @param {Speech} speech
   * @param {'done' | 'stopped' | null} how null: it failed, which has been said.
   */
  #over(speech, how) {
    if (speech !== this.#speech) return;
    this.#speech = null;
    this.#paused = false;
    if (how) this.#say(`status-${how}`);
    if (how === 'done') this.#tell('log-end');
    this.#show();
    this.dispatchEvent(new CustomEvent('over', { detail: { id: speech.id } }));
  }

  // ---- what is shown

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values]
   * @param {boolean} [bad]
   */
  #tell(key, values = {}, bad = false) {
    this.dispatchEvent(new CustomEvent('told', { detail: { text: this.#words.say(key, values), bad } }));
  }

  /** @param {string} key */
  #say(key) {
    this.#said = key;
    this.#show();
  }

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values]
   */
  #fail(key, values = {}) {
    this.#said = '';
    this.#show();
    write(this.#status, this.#words.say(key, values));
    this.#status.classList.add('bad');
  }

  #show() {
    const busy = this.#speech !== null;
    const focused = document.activeElement;
    this.#play.disabled = busy;
    this.#pause.disabled = this.#stop.disabled = !busy;
    if (focused === this.#play && busy) this.#pause.focus(); // or the keyboard would be nowhere
    if ((focused === this.#pause || focused === this.#stop) && !busy) this.#play.focus();
    write(this.#pause, this.#words.say(this.#paused ? 'resume' : 'pause'));
    this.#status.classList.toggle('bad', this.#said === '');
    if (this.#said) write(this.#status, this.#words.say(this.#said));
  }
}

/**
 * @param {HTMLSelectElement} select
 * @param {{ value: string, text: string }[]} choices after one that leaves it to the server.
 */
function fill(select, choices) {
  const kept = select.value;
  const options = [{ value: '', text: '' }, ...choices].map(({ value, text }) =>
    html('option', { value }, text),
  );
  select.replaceChildren(...options);
  select.value = choices.some(({ value }) => value === kept) ? kept : '';
}

/**
 * @param {EventTarget} target
 * @param {string} name
 * @param {(detail: any) => void} listener
 */
function on(target, name, listener) {
  target.addEventListener(name, (event) => listener(/** @type {CustomEvent} */ (event).detail));
}
