/**
 * The listener: messages of one stream in, samples out.
 *
 * `Playout` decides what is heard; this turns it into sound at one output rate. It must not know
 * connections, clocks or loudspeakers: whoever calls `render` keeps the time.
 */

import { TrackDecoder } from './decoding.js';
import { PlayoutError } from './errors.js';
import { crossFade, fadeIn, fadeOut } from './fade.js';
import { Playout } from './playout.js';
import { RungTally } from './tally.js';
import {
  FRAME_TICKS,
  TICKS_PER_SECOND,
  convertLength,
  frameSamples,
  samplesToTicks,
  ticksToMs,
  ticksToSamples,
} from './units.js';

/** @typedef {import('./playout.js').Frame} Frame */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */

/**
 * What a stream's listener knows of itself, for people and for tests: `rung` of the last frame
 * given; `seconds` heard of each rung; `switches` of the rung heard, retunes among them; waits in
 * mid-speech; what is held; packets that are here and not decoded, and that could not be.
 *
 * @typedef {{ rung: string | null, seconds: Record<string, number>, switches: number, stalls: number,
 *   stallMs: number, playedMs: number, bufferMs: number, heldPackets: number, badPackets: number }} Meters
 */

export class Listener {
  /** The last frame that was given: where it stands, its track, its fades. @type {Frame | null} */
  frame = null;
  #opus;
  /** @type {number | null} */
  #outRate;
  #playout;
  /** @type {Map<number, TrackDecoder>} */
  #decoders = new Map();
  #tally = new RungTally();
  /** Samples of the whole, once known. @type {number | null} */
  #total = null;
  #badPackets = 0;

  /**
   * @param {{ opus?: import('./decoding.js').Opus | null, outRate?: number | null, level?: number,
   *   startTicks?: number }} [settings] what makes Opus decoders (without it PCM alone is played);
   *   Hz of what `render` gives (null: the engine's rate, as `stream_started` says); conformance
   *   level, 0 (one track) or 1; sound wanted before the first frame, see `Playout`.
   * @throws {RangeError} an output rate that does not divide into 20 ms frames.
   */
  constructor({ opus = null, outRate = null, level = 1, startTicks } = {}) {
    if (outRate !== null) frameSamples(outRate);
    this.#opus = opus;
    this.#outRate = outRate;
    this.#playout = new Playout({ startTicks, level });
  }

  // ---- arrivals

  /**
   * The stream's next message. What does not concern sound (marks, errors) is ignored.
   *
   * @param {ServerMessage} message
   * @throws {PlayoutError} it breaks the rules of tracks, or cannot be played. It was ignored; the
   *   listener can go on.
   */
  onMessage(message) {
    if (message.type === 'audio') this.#hold(message);
    else if (message.type === 'track') this.#open(message);
    else if (message.type === 'switch') this.#switch(message);
    else if (message.type === 'stream_started') this.#knowRate(message.sample_rate);
    else if (message.type === 'stream_end') this.#end(message);
  }

  /** @param {number} engineRate */
  #knowRate(engineRate) {
    if (this.#outRate === null) {
      if (engineRate % 50)
        throw new PlayoutError(`${engineRate} Hz does not divide into 20 ms frames`, 'bad_format');
      this.#outRate = engineRate;
    }
    return this.#outRate;
  }

  /** @param {import('./messages.js').Track} message */
  #open(message) {
    const { track, rank, start, preroll, duration, rung } = message;
    if (this.#outRate === null) throw new PlayoutError('a track before `stream_started`', 'bad_format');
    const decoder = this.#playout.live.includes(track)
      ? null
      : new TrackDecoder(message, this.#opus, this.#outRate);
    try {
      this.#playout.open(track, rank, start, preroll, duration);
    } catch (fault) {
      decoder?.close();
      throw fault;
    }
    if (decoder) {
      this.#decoders.set(track, decoder);
      this.#tally.open(track, rung);
    }
  }

  /** @param {import('./messages.js').Audio} message */
  #hold({ track, pts, packets }) {
    const skipped = this.#playout.hold(track, pts, packets.length);
    if (skipped < packets.length) this.#decoders.get(track)?.push(packets.slice(skipped));
  }

  /** @param {import('./messages.js').Switch} message */
  #switch({ track, at, to, length }) {
    if (length) this.#playout.switch(track, at);
    else this.#tally.retune(track, at, to);
  }

  /** @param {import('./messages.js').StreamEnd} message */
  #end({ length, sample_rate: rate, reason }) {
    const outRate = this.#knowRate(rate);
    let [ticks, total] = [samplesToTicks(length, rate), convertLength(length, rate, outRate)];
    if (reason === 'cancelled' && this.#total === null) {
      // Nothing more comes, however long the speech had become.
      const here = this.#playout.played + this.#playout.bufferTicks;
      [ticks, total] = [Math.min(ticks, here), Math.min(total, ticksToSamples(here, outRate))];
    }
    this.#playout.end(ticks);
    this.#total = total;
  }

  /** The listener pauses: the next frame fades out, then `render` gives null. */
  pause() {
    this.#playout.pause();
  }

  /** The listener goes on, with the sample after the last. */
  resume() {
    this.#playout.resume();
  }

  /** Free every decoder; nothing may be asked for afterwards but what may be seen. */
  close() {
    for (const decoder of this.#decoders.values()) {
      this.#badPackets += decoder.badPackets;
      decoder.close();
    }
    this.#decoders.clear();
  }

  // ---- sound

  /**
   * The next 20 ms.
   *
   * @returns {Float32Array | null} outRate ÷ 50 samples, the caller's own; the last frame is
   *   shorter (it may be empty), so that the whole is round(length · outRate ÷ sample_rate)
   *   samples. null for 20 ms of silence: before the start, in a stall, in a pause, after the end.
   */
  render() {
    const frame = this.#playout.render();
    if (!frame) return null;
    this.frame = frame;
    const samples = this.#sound(frame).slice(0, this.#lengthAt(frame.pts));
    for (const decoder of this.#decoders.values()) decoder.advance(frame.pts + FRAME_TICKS);
    this.#tally.heard(frame.track, frame.pts, this.#playout.played - frame.pts);
    this.#free();
    return samples;
  }

  /** @param {Frame} frame */
  #sound({ track, pts, fadeFrom, fadeIn: rises, fadeOut: falls }) {
    let sound = this.#trackSound(track, pts);
    if (fadeFrom !== null) sound = crossFade(this.#trackSound(fadeFrom, pts), sound);
    if (rises) sound = fadeIn(sound, this.#rate);
    return falls ? fadeOut(sound, this.#rate) : sound;
  }

  /**
   * @param {number} track
   * @param {number} pts
   */
  #trackSound(track, pts) {
    const decoder = this.#decoders.get(track);
    if (!decoder) throw new Error(`track ${track} is played and has no decoder`);
    return decoder.frame(pts, this.#playout.finished);
  }

  /**
   * Samples of the frame at `pts` that lie within the true length.
   *
   * @param {number} pts
   */
  #lengthAt(pts) {
    const size = frameSamples(this.#rate);
    return this.#total === null
      ? size
      : Math.max(0, Math.min(size, this.#total - (pts / FRAME_TICKS) * size));
  }

  get #rate() {
    if (this.#outRate === null) throw new Error('a track was opened, so the rate is known');
    return this.#outRate;
  }

  #free() {
    const { live } = this.#playout;
    if (this.#decoders.size <= live.length) return;
    for (const [track, decoder] of this.#decoders) {
      if (live.includes(track)) continue;
      this.#badPackets += decoder.badPackets;
      decoder.close();
      this.#decoders.delete(track);
      this.#tally.forget(track);
    }
  }

  // ---- what may be seen

  /** Hz of what `render` gives; null while it is to be the engine's and that is not known. */
  get outRate() {
    return this.#outRate;
  }

  /**
   * Whether `render` would give a frame now that need not fade out for want of the next. A reader
   * who renders only then never stalls, and under a fixed rung hears the same samples however the
   * messages were grouped.
   */
  get canRender() {
    return this.#playout.canRender;
  }

  /** Whether the first frame was rendered. */
  get started() {
    return this.#playout.started;
  }

  /** Whether everything was rendered. */
  get finished() {
    return this.#playout.finished;
  }

  /** Whether the listener paused. */
  get paused() {
    return this.#playout.paused;
  }

  /** Ticks rendered so far. */
  get played() {
    return this.#playout.played;
  }

  /** The true length in ticks, null while it is not known. */
  get endTicks() {
    return this.#playout.endTicks;
  }

  /** Milliseconds held without a hole beyond `played`, at any rank. */
  get bufferMs() {
    return ticksToMs(this.#playout.bufferTicks);
  }

  /** Track and pts of the next packet of each live track, for `attach.tracks`. */
  get wanted() {
    return this.#playout.wanted;
  }

  /** @returns {import('./report.js').Position} what a report says of this stream. */
  get position() {
    const { played, highest, stalls, stallTicks, finished } = this.#playout;
    return {
      played,
      bufferMs: this.bufferMs,
      stalls,
      stallMs: ticksToMs(stallTicks),
      highest,
      complete: finished,
    };
  }

  /** @returns {Meters} */
  get meters() {
    const decoders = [...this.#decoders.values()];
    const seconds = [...this.#tally.ticks].map(([rung, ticks]) => [rung, ticks / TICKS_PER_SECOND]);
    return {
      rung: this.#tally.rung,
      seconds: Object.fromEntries(seconds),
      switches: this.#tally.switches,
      stalls: this.#playout.stalls,
      stallMs: ticksToMs(this.#playout.stallTicks),
      playedMs: ticksToMs(this.played),
      bufferMs: this.bufferMs,
      heldPackets: decoders.reduce((sum, { heldPackets }) => sum + heldPackets, 0),
      badPackets: decoders.reduce((sum, { badPackets }) => sum + badPackets, this.#badPackets),
    };
  }
}
