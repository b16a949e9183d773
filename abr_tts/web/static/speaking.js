/**
 * One speech on its way from the server to the loudspeaker: what was asked, what came, what was heard.
 *
 * Messages of its stream go in; blocks for the outlet come out when there is room. What is heard is
 * known from the outlet alone. It knows no socket and no clock but the outlet's samples.
 */

import { blank } from './account.js';
import { Asking } from './asking.js';
import { AbrError, PlayoutError } from './errors.js';
import { HeardText } from './heard.js';
import { Parts } from './parts.js';
import { Sending } from './sending.js';
import { FRAME_TICKS, frameSamples, msToTicks, samplesToTicks, ticksToMs } from './units.js';

/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** What is to be said: a text, or with `clip` the sound of one, of so many Hz. @typedef {import('./asking.js').Request & { clip?: number }} Request */
/** Of a block: whose it is, where it starts and ends in ticks, its rung. @typedef {{ speaking: Speaking, pts: number, end: number, rung: string | null }} Mark */
/** @typedef {import('./feeder.js').Feeder<Mark>} Feeder */
/** @typedef {{ rungSent: string | null, rungPlayed: string | null, bankMs: number, upgradeMs: number, playedMs: number, stalls: number, stallMs: number, state: 'waiting' | 'playing' | 'stalled' | 'paused' }} Figures */

/** @typedef {import('./account.js').Report} Report */

/**
 * Milliseconds before the outlet runs dry at which the last frame held is given, fading out: before
 * that the next one may still come; later the outlet might run dry without a fade.
 */
const EDGE_MS = 40;

/** Speech that is held at most, in ms: a server keeps its lead below ten minutes. */
const MOST_AHEAD_MS = 900_000;

export class Speaking {
  /** What the server is told. */
  asking;
  /** All of rank 0 is here, or no more will come. */
  received = false;
  /** Everything was heard, or nothing more will be. */
  over = false;
  /** Why it ended, if not well. @type {AbrError | null} */
  fault = null;
  /** Ticks heard. */
  played = 0;
  /** The server has no more of it, and another one has: to be asked for anew. */
  moved = false;
  /** The connection on which it was asked for last. @type {import('./pump.js').Pump | null} */
  pump = null;
  #listener;
  #tell;
  #now;
  #began;
  #inFlight = 0;
  /** The listener has paused before. */
  #wished = false;
  /** Samples of silence that the playout was not asked about yet. */
  #debt = 0;
  #stalledMs = /** @type {number | null} */ (null);
  #rungHeard = /** @type {string | null} */ (null);
  /** Rank of each track, and the rung sent last. @type {Map<number, number>} */
  #ranks = new Map();
  /** @type {string | null} */
  #rungSent = null;
  /** Clauses that do not sound yet. @type {(import('./messages.js').Mark & import('./heard.js').Clause)[]} */
  #marks = [];
  #text = new HeardText();
  #heard = 0;
  #report = blank();

  /**
   * @param {string} id the speech's UUID.
   * @param {Request} request
   * @param {{ opus: import('./decoding.js').Opus | null, rate: number, startTicks?: number, now(): number,
   *   tell(type: string, detail: Record<string, unknown>): void }} host
   */
  constructor(id, { clip, ...request }, { opus, rate, startTicks, now, tell }) {
    this.id = id;
    this.asking = clip
      ? new Sending(id, { ...request, purpose: 'conversion' }, clip)
      : new Asking(id, request);
    this.#listener = new Parts({ opus, outRate: rate, level: 1, startTicks });
    this.#tell = tell;
    this.#now = now;
    this.#began = now();
  }

  // ---- towards the server

  /** The messages that ask for it, or for the rest of it. */
  ask() {
    return this.asking.ask(this.#listener.wanted, Math.max(0, this.played - this.#listener.begins));
  }

  /**
   * Its server stops and has not begun with it: all of what that was asked is to be asked of another.
   *
   * @param {() => string} again gives a new UUID.
   */
  refusedHere(again) {
    this.asking.elsewhere(0);
    this.disconnected(again);
  }

  /**
   * The connection is lost.
   *
   * @param {() => string} again gives a new UUID.
   */
  disconnected(again) {
    this.asking.handle = this.pump = null;
    if (!this.received && this.asking.asked) this.asking.lost(again);
  }

  // ---- from the server

  /**
   * A message of its stream.
   *
   * @param {ServerMessage} message
   * @param {number} size bytes.
   * @returns {ClientMessage[]} what is to be answered.
   */
  onMessage(message, size) {
    this.#report.bytes += size;
    if (this.over || this.fault) return [];
    try {
      this.#listener.onMessage(message);
      return this.#note(message);
    } catch (error) {
      if (!(error instanceof PlayoutError || error instanceof RangeError)) throw error;
      return this.#refuse(`the server broke the rules of tracks: ${error.message}`);
    }
  }

  /**
   * It cannot go on.
   *
   * @param {string} reason
   * @returns {ClientMessage[]}
   */
  #refuse(reason) {
    this.fail(new AbrError('stream_failed', reason));
    return [{ type: 'cancel', stream: this.asking.stream }];
  }

  /**
   * @param {ServerMessage} message
   * @returns {ClientMessage[]}
   */
  #note(message) {
    if (message.type === 'stream_started') return this.#started(message);
    if (message.type === 'track') {
      this.#ranks.set(message.track, message.rank);
      this.#rungSent = message.rung;
    } else if (message.type === 'switch') {
      const { from, to, at, length, reason, track } = message;
      this.#rungSent = to;
      const [rank, where] = [this.#ranks.get(track) ?? 0, at + this.#listener.begins];
      this.#tell('switch', { rank, from, to, at: where, length, reason, words: reason });
    } else if (message.type === 'mark') this.#noteClause(message);
    else if (message.type === 'stream_end') this.#noteEnd(message);
    else if (message.type === 'audio' && this.#listener.bufferMs > MOST_AHEAD_MS) {
      return this.#refuse('the server sends on without regard to what was played');
    }
    return [];
  }

  /** @param {import('./messages.js').Mark} message */
  #noteClause(message) {
    const before = this.asking.text.slice(0, this.asking.said);
    const [ticks, chars] = [this.#listener.begins, Array.from(before).length];
    const { pts, begin, end } = message;
    const mark = { ...message, pts: pts + ticks, begin: begin + chars, end: end + chars };
    this.#marks.push({ ...mark, ...this.#text.mark(mark, this.asking.text) });
  }

  /** @param {import('./messages.js').StreamEnd} message */
  #noteEnd({ length, sample_rate: rate, reason, chars = 0 }) {
    this.received = true;
    if (reason === 'cancelled') this.#report.reason = 'cancelled';
    else this.#text.end(this.#listener.begins + samplesToTicks(length, rate));
    if (reason !== 'moved' || !this.asking.elsewhere(chars, this.#report.voice)) return;
    this.#listener.grow();
    this.received = false;
    this.moved = true;
  }

  /**
   * @param {import('./messages.js').StreamStarted} message
   * @returns {ClientMessage[]}
   */
  #started(message) {
    const { voice, sample_rate: sampleRate } = message;
    Object.assign(this.#report, { voice, sampleRate });
    const words = this.asking.started(message);
    // What was wished while there was no connection has not been told.
    if (this.#wished)
      words.push({ type: this.#listener.paused ? 'pause' : 'resume', stream: message.stream });
    return words;
  }

  /**
   * It ends with this fault, once all that has come is heard; well, if nothing was left to say where it moved.
   *
   * @param {AbrError} fault
   */
  fail(fault) {
    if (this.over || this.fault) return;
    const whole = fault.code === 'empty_text' && this.#listener.begins > 0;
    if (!whole) this.fault = fault;
    this.received = true;
    if (this.#listener.endTicks !== null) return;
    /** @type {import('./messages.js').StreamEnd} */
    const here = {
      type: 'stream_end',
      stream: 1,
      length: whole ? 0 : Number.MAX_SAFE_INTEGER,
      sample_rate: 48_000,
      channels: 1,
      codec: '',
      reason: whole ? 'done' : 'cancelled',
    };
    this.#listener.onMessage(here);
  }

  // ---- the listener's wishes

  /** Nothing more is given; what was given is held at the outlet. */
  pause() {
    this.#wished = true;
    this.#listener.pause();
  }

  resume() {
    this.#listener.resume();
  }

  /** Heard no more. */
  stop() {
    this.#report.reason = 'stopped';
    this.over = true;
  }

  /** Free what it holds. */
  close() {
    this.over = true;
    this.#listener.close();
  }

  // ---- sound

  /**
   * Give what there is room for.
   *
   * @param {Feeder} feeder
   * @returns {boolean} whether the next speech may follow: this one is given to its end.
   */
  feed(feeder) {
    const listener = this.#listener;
    while (feeder.hungry && listener.canRender) this.#give(feeder);
    const edge = feeder.queued <= (feeder.rate * EDGE_MS) / 1000;
    const waits =
      !listener.started ||
      listener.paused ||
      listener.finished ||
      listener.frame?.fadeOut ||
      listener.canRender;
    if (edge && !waits && listener.bufferMs > 0) this.#give(feeder);
    if (listener.finished && !this.#inFlight) this.over = true;
    return listener.finished;
  }

  /**
   * The outlet played silence while it was this one's turn.
   *
   * @param {number} samples
   * @param {Feeder} feeder
   */
  idle(samples, feeder) {
    const { started, paused, finished } = this.#listener;
    if (!started || paused || finished || feeder.queued) {
      this.#debt = 0;
      return;
    }
    const frame = frameSamples(feeder.rate);
    for (this.#debt += samples; this.#debt > 0; this.#debt -= frame) if (this.#give(feeder)) this.#debt = 0;
  }

  /** @param {Feeder} feeder */
  #give(feeder) {
    const listener = this.#listener;
    const { stalls } = listener.meters;
    const samples = listener.render();
    const { stalls: now, stallMs } = listener.meters;
    if (!samples) {
      if (now > stalls) {
        this.#stalledMs = stallMs - ticksToMs(FRAME_TICKS);
        this.#tell('stall', { at: listener.played });
      }
      return false;
    }
    const { pts, fadeOut } = /** @type {import('./playout.js').Frame} */ (listener.frame);
    if (this.#stalledMs !== null) this.#tell('resumed', { at: pts, ms: stallMs - this.#stalledMs });
    this.#stalledMs = null;
    this.#inFlight += 1;
    feeder.push(samples, fadeOut || listener.finished, {
      speaking: this,
      pts,
      end: listener.played,
      rung: listener.meters.rung,
    });
    return true;
  }

  /**
   * A block of it was heard.
   *
   * @param {Mark} mark
   */
  heard({ pts, end, rung }) {
    this.#inFlight -= 1;
    if (this.over) return;
    this.played = end;
    if (this.#report.firstSoundMs === null) {
      this.#report.firstSoundMs = (this.#now() - this.#began) * 1000;
      const { voice, sampleRate, firstSoundMs } = this.#report;
      this.#tell('start', { voice, sampleRate, rung, firstSoundMs });
    }
    if (rung !== this.#rungHeard) this.#tell('played', { rung, at: pts });
    this.#rungHeard = rung;
    for (const due of this.#marks.filter((mark) => mark.pts < end))
      this.#tell('mark', { pts: due.pts, begin: due.begin, end: due.end, from: due.from, to: due.to });
    this.#marks = this.#marks.filter((mark) => mark.pts >= end);
    const heard = this.textHeard;
    if (heard !== this.#heard) this.#tell('heard', { at: end, heard });
    this.#heard = heard;
    if (this.#listener.finished && !this.#inFlight) this.over = true;
  }

  // ---- what may be seen

  /** @returns {import('./report.js').Position} */
  get position() {
    return this.#listener.position(this.played, this.#inFlight > 0);
  }

  /** Index of the text up to which it was heard. */
  get textHeard() {
    const reach = this.#listener.played + msToTicks(this.#listener.bufferMs);
    return this.#text.at(this.played, reach, this.asking.text);
  }

  /** @returns {Report} */
  get report() {
    const { seconds, switches, stalls, stallMs, badPackets } = this.#listener.meters;
    const heardOut = this.#listener.finished && !this.#inFlight;
    const complete = !this.fault && this.#report.reason === 'done' && heardOut;
    return {
      ...this.#report,
      playedMs: ticksToMs(this.played),
      heard: complete ? this.asking.text.length : this.textHeard,
      rungs: seconds,
      switches,
      stalls,
      stallMs,
      badPackets,
      complete,
    };
  }

  /** @returns {Figures} */
  get figures() {
    const listener = this.#listener;
    const { stalls, stallMs } = listener.meters;
    const ahead = listener.begins + FRAME_TICKS - this.played;
    const reach = [0, 1].map((rank) => {
      const held = listener.highest.filter(([track]) => this.#ranks.get(track) === rank);
      return Math.max(0, ...held.map(([, pts]) => pts + ahead));
    });
    const state = listener.paused
      ? 'paused'
      : this.#stalledMs !== null
        ? 'stalled'
        : this.#report.firstSoundMs === null
          ? 'waiting'
          : 'playing';
    const [bankMs, upgradeMs] = reach.map(ticksToMs);
    return {
      rungSent: this.#rungSent,
      rungPlayed: this.#rungHeard,
      bankMs,
      upgradeMs,
      playedMs: ticksToMs(this.played),
      stalls,
      stallMs,
      state,
    };
  }
}
