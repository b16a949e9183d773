/**
 * The player without a browser: speeches, their queue's events, and a loudspeaker that is opened while
 * one is under way. `player.js` gives it a browser's parts, `wx.js` a mini-program's.
 *
 * Events, with values in `detail`: `ready` {opus} (the receive path stands; without Opus it asks for PCM), `locked` (the platform wants a gesture: call `unlock` in one),
 * `unlocked`, `connecting`, `open`, `reconnecting` {attempt, inMs}, `closed` {code}, `error` {code,
 * message, scope, retryAfter}, and every 250 ms of a speech `stats` {rungSent, rungPlayed, bankMs,
 * upgradeMs, rttMs, goodputKbps, playedMs, receivedBytes, stalls, stallMs, underruns, state}.
 */

import { LEAST_RATE } from './clip.js';
import { AbrError } from './errors.js';
import { Target, happening } from './events.js';
import { Speech } from './speech.js';
import { frameSamples } from './units.js';

/** @typedef {import('./terms.js').Command} Command */
/** @typedef {import('./terms.js').Tidings} Tidings */
/** @typedef {import('./terms.js').Settings} Settings */
/** What is asked for beside the text; `instruct`: how to speak, in words. @typedef {{ voice?: string, language?: string, speed?: number, policy?: string, rung?: string, open?: boolean, instruct?: string }} Wishes */
/** What is asked for beside the sound. @typedef {{ voice?: string, speed?: number, policy?: string, rung?: string }} ConvertWishes */
/** `consent`: the speaker agrees to be cloned; `text`: what is said, word for word. @typedef {{ consent: boolean, text?: string, language?: string }} VoiceFacts */
/** Mono, full scale at ±1: all of it, or pieces as they come, such as from a worklet. @typedef {Float32Array | AsyncIterable<Float32Array>} Sound */

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
  /** Voices that are being made. @type {Map<string, { resolve(seconds: number): void, reject(error: unknown): void }>} */
  #voices = new Map();
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
    const { voice, language, speed, policy = this.#policy, rung, open, instruct } = wishes;
    return this.#begin({ text, voice, language, speed, policy, rung, open, instruct }, text);
  }

  /**
   * @param {import('./speaking.js').Request} request
   * @param {string} text
   */
  #begin(request, text) {
    if (this.#closed) throw new Error('this player was closed');
    const { rate } = this.#sink;
    frameSamples(rate);
    const speech = new Speech(this.#uuid(), (command) => this.#core.post(command), text);
    this.#speeches.set(speech.id, speech);
    this.#core.post({ do: 'speak', id: speech.id, request, rate });
    this.#open();
    return speech;
  }

  /**
   * Say what is said in a clip of up to 30 s in another voice, in its turn.
   *
   * @param {Sound} samples
   * @param {number} rate Hz of the samples, a multiple of 50.
   * @param {ConvertWishes} [wishes]
   * @throws {RangeError} the rate has no whole frames of 20 ms.
   * @throws {Error} as `speak`.
   */
  convert(samples, rate, wishes = {}) {
    clipRate(rate);
    const { voice, speed, policy = this.#policy, rung } = wishes;
    const speech = this.#begin({ voice, speed, policy, rung, clip: rate }, '');
    void this.#feed(speech.id, samples, () => speech.over).catch((error) => {
      speech.stop();
      speech.hear('error', { code: 'bad_audio', message: String(error), scope: 'stream', retryAfter: null });
    });
    return speech;
  }

  /**
   * Make a voice of a clip of 1 to 30 s (3 to 10 are best); it can be named as `voice` from then on.
   *
   * @param {string} name 1 to 48 letters, digits, - and _; not that of another voice.
   * @param {Sound} samples
   * @param {number} rate Hz of the samples, a multiple of 50.
   * @param {VoiceFacts} facts
   * @returns {Promise<number>} seconds of sound that the server keeps; rejected with an `AbrError` where it
   *   refuses, or with what the samples threw.
   */
  async addVoice(name, samples, rate, { consent, text, language }) {
    if (this.#closed) throw new Error('this player was closed');
    clipRate(rate);
    const id = this.#uuid();
    /** @type {Promise<number>} */
    const kept = new Promise((resolve, reject) => this.#voices.set(id, { resolve, reject }));
    this.#core.post({ do: 'voice', id, request: { voice: name, consent, text, language }, rate });
    this.#feed(id, samples, () => !this.#voices.has(id)).catch((error) => {
      this.#core.post({ do: 'forget', id });
      this.#voices.get(id)?.reject(error);
      this.#voices.delete(id);
    });
    return kept;
  }

  /**
   * @param {string} id
   * @param {Sound} samples
   * @param {() => boolean} over nobody wants more.
   */
  async #feed(id, samples, over) {
    /** @param {Float32Array} piece */
    const post = (piece) => this.#core.post({ do: 'sound', id, samples: Float32Array.from(piece) });
    if (samples instanceof Float32Array) post(samples);
    else
      for await (const piece of samples) {
        if (over()) return;
        post(piece);
      }
    this.#core.post({ do: 'sound', id, samples: null });
  }

  /** The speeches that are not over, in their order. */
  get speeches() {
    return [...this.#speeches.values()];
  }

  /** Stop, say goodbye and let the loudspeaker go. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    for (const { reject } of this.#voices.values()) reject(new Error('this player was closed'));
    this.#voices.clear();
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
    else if (this.#voices.has(id)) this.#hearOfVoice(id, type, detail);
    else {
      const speech = this.#speeches.get(id);
      speech?.hear(type, detail);
      if (speech?.over) this.#speeches.delete(id);
    }
  }

  /**
   * @param {string} id
   * @param {string} type
   * @param {any} detail
   */
  #hearOfVoice(id, type, detail) {
    const voice = this.#voices.get(id);
    this.#voices.delete(id);
    if (type === 'kept') voice?.resolve(detail.seconds);
    else voice?.reject(new AbrError(detail.code, detail.message, {}, detail.retryAfter));
  }

  /** The receive path let its outlet go; a speech that crossed this wants another. */
  #rest() {
    this.#sink.release();
    this.#opened = false;
    if (this.#speeches.size && !this.#closed) this.#open();
  }
}

/**
 * Refuse here what the receive path would refuse where nobody sees it.
 *
 * @param {number} rate
 */
function clipRate(rate) {
  frameSamples(rate);
  if (rate < LEAST_RATE) throw new RangeError(`${rate} Hz is below ${LEAST_RATE}`);
}
