/**
 * The player without a browser: speeches, their queue's events, and a loudspeaker that is opened while
 * one is under way. `player.js` gives it a browser's parts, `wx.js` a mini-program's.
 *
 * Events, with values in `detail`: `ready` {opus} (the receive path stands; without Opus it asks for PCM), `locked` (the platform wants a gesture: call `unlock` in one),
 * `unlocked`, `connecting`, `open`, `reconnecting` {attempt, inMs}, `closed` {code}, `error` {code,
 * message, scope, retryAfter}, and every 250 ms of a speech `stats` {rungSent, rungPlayed, bankMs,
 * upgradeMs, rttMs, goodputKbps, playedMs, receivedBytes, stalls, stallMs, underruns, state}.
 */

import { Target, happening } from './events.js';
import { Speech } from './speech.js';
import { frameSamples } from './units.js';

/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Tidings} Tidings */
/** @typedef {import('./terms.js').Settings} Settings */
/** What is asked for beside the text. @typedef {{ voice?: string, language?: string, speed?: number, policy?: string, rung?: string, open?: boolean }} Wishes */

/** Where samples come out: a port that obeys `outlet.Order`s, its rate, and how late its thread may be. @typedef {{ port: import('./feeder.js').Port, rate: number, cushionMs: number }} Opened */
/**
 * A loudspeaker. `rate` is known at once. `open` makes an outlet, `release` lets it go; `onlock` tells that
 * sound waits for a gesture, or no longer does; `onport` that an outlet died and here is another.
 *
 * @typedef {{ readonly rate: number, open(): Promise<Opened>, release(): void, unlock(): Promise<void>, close(): void,
 *   onlock: (locked: boolean) => void, onport: (opened: Opened) => void }} Sink
 */
/** The receive path, wherever it runs; `transfer` goes to its thread. @typedef {{ post(command: Command, transfer?: any[]): void }} Core */

export class Speaker extends Target {
  #core;
  #sink;
  #uuid;
  #policy;
  /** @type {Map<string, Speech>} */
  #speeches = new Map();
  #opened = false;
  #closed = false;

  /**
   * @param {{ sink: Sink, core: (tell: (tidings: Tidings) => void) => Core, uuid: () => string, policy?: string }} parts
   *   `policy`: the server's policy by name, for every speech that names none.
   */
  constructor({ sink, core, uuid, policy }) {
    super();
    this.#sink = sink;
    this.#uuid = uuid;
    this.#policy = policy;
    this.#core = core((tidings) => this.#hear(tidings));
    sink.onlock = (locked) => this.dispatchEvent(happening(locked ? 'locked' : 'unlocked'));
    sink.onport = (opened) => this.#plug(opened);
  }

  /** Let sound out; to be called in a gesture of the user. A `speak` in a gesture does it by itself. */
  unlock() {
    return this.#sink.unlock();
  }

  /** Connect before there is anything to say, so that the first speech need not wait for it. */
  connect() {
    this.#core.post({ do: 'connect' });
  }

  /**
   * Speak. Several are spoken one after another.
   *
   * @param {string} text
   * @param {Wishes} [wishes] `open`: more text follows, by `append`, until `end`.
   * @throws {TypeError} the text is no string.
   * @throws {RangeError} the loudspeaker's rate has no whole frames of 20 ms.
   * @throws {Error} the player was closed, or there is no loudspeaker.
   */
  speak(text, wishes = {}) {
    if (typeof text !== 'string') throw new TypeError('the text must be a string');
    if (this.#closed) throw new Error('this player was closed');
    const { rate } = this.#sink;
    frameSamples(rate);
    const speech = new Speech(this.#uuid(), (command) => this.#core.post(command));
    this.#speeches.set(speech.id, speech);
    const { voice, language, speed, policy = this.#policy, rung, open } = wishes;
    this.#core.post({
      do: 'speak',
      id: speech.id,
      request: { text, voice, language, speed, policy, rung, open },
      rate,
    });
    this.#open();
    return speech;
  }

  /** The speeches that are not over, in their order. */
  get speeches() {
    return [...this.#speeches.values()];
  }

  /** Stop, say goodbye and let the loudspeaker go. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#core.post({ do: 'close' });
    this.#sink.close();
  }

  #open() {
    if (this.#opened) return;
    this.#opened = true;
    this.#sink.open().then(
      (opened) => this.#plug(opened),
      (error) =>
        this.dispatchEvent(
          happening('error', {
            code: 'no_sound',
            message: String(error),
            scope: 'nothing',
            retryAfter: null,
          }),
        ),
    );
  }

  /** @param {Opened} opened */
  #plug({ port, rate, cushionMs }) {
    this.#core.post({ do: 'sink', port, rate, cushionMs }, [port]);
  }

  /** @param {Tidings} tidings */
  #hear({ id, type, detail }) {
    if (type === 'silent') this.#rest();
    else if (id === null) this.dispatchEvent(happening(type, detail));
    else {
      const speech = this.#speeches.get(id);
      speech?.hear(type, detail);
      if (speech?.over) this.#speeches.delete(id);
    }
  }

  /** The receive path let its outlet go; a speech that crossed this wants another. */
  #rest() {
    this.#sink.release();
    this.#opened = false;
    if (this.#speeches.size && !this.#closed) this.#open();
  }
}
