/**
 * The clips of one receiver: voices to make, which it asks for itself, and speech to convert, which the
 * queue of speeches asks for in its turn. It sends their sound when it may go.
 *
 * A clip is known by the id that its player gave it; its name on the wire may change.
 */

import { AbrError } from './errors.js';
import { Sending } from './sending.js';

/** @typedef {import('./pump.js').Pump} Pump */
/** @typedef {import('./sending.js').Wish} Wish */
/** `pump`: the connection on which it was asked for. @typedef {{ id: string, sending: Sending, voice: boolean, pump: Pump | null }} Clip */

export class Clips {
  #clock;
  #uuid;
  #tell;
  #again;
  /** @type {Map<string, Clip>} */
  #clips = new Map();
  /** @type {unknown} */
  #timer = null;

  /**
   * @param {import('./terms.js').Place} place
   * @param {(tidings: import('./terms.js').Tidings) => void} tell
   * @param {() => void} again called when it is time to send more.
   */
  constructor({ clock, uuid }, tell, again) {
    this.#clock = clock;
    this.#uuid = uuid;
    this.#tell = tell;
    this.#again = again;
  }

  /** A voice waits to be made. */
  get waiting() {
    return [...this.#clips.values()].some(({ voice }) => voice);
  }

  /**
   * Make a voice. `kept` {seconds} or `error` follows.
   *
   * @param {string} id
   * @param {Wish} request
   * @param {number} rate Hz of the samples that follow.
   */
  make(id, request, rate) {
    this.#clips.set(id, { id, sending: new Sending(id, request, rate), voice: true, pump: null });
  }

  /**
   * Send the sound of a speech as well.
   *
   * @param {string} id
   * @param {Sending} sending
   */
  add(id, sending) {
    this.#clips.set(id, { id, sending, voice: false, pump: null });
  }

  /**
   * More of a clip, or its end.
   *
   * @param {string} id
   * @param {Float32Array | null} samples
   */
  write(id, samples) {
    this.#clips.get(id)?.sending.write(samples);
  }

  /**
   * The speech that it belongs to was asked for.
   *
   * @param {string} id
   * @param {Pump} pump where.
   */
  carry(id, pump) {
    const clip = this.#clips.get(id);
    if (clip) clip.pump = pump;
  }

  /** Whether anything of a clip is under way on this connection. @param {Pump} pump */
  on(pump) {
    return [...this.#clips.values()].some((clip) => clip.pump === pump);
  }

  /**
   * It is over, or nobody wants it any more; of a voice that was to be made the server is told.
   *
   * @param {string} id
   */
  drop(id) {
    const clip = this.#clips.get(id);
    this.#clips.delete(id);
    const pump = clip?.pump;
    if (!clip?.voice || !pump) return;
    const { asked, stream, streamId, handle } = clip.sending;
    if (asked) pump.send({ type: 'cancel', stream });
    pump.settle(streamId, handle, null);
  }

  /**
   * A message of a stream. Whether it is of a voice that is made, and nobody else's.
   *
   * @param {string | null} streamId
   * @param {import('./messages.js').ServerMessage} message
   * @param {Pump | null} pump
   */
  hear(streamId, message, pump) {
    const clip = [...this.#clips.values()].find(({ sending }) => sending.streamId === streamId);
    if (clip && message.type === 'flow_control') clip.sending.flow(message.rate, this.#clock.now());
    if (!clip?.voice) return message.type === 'flow_control';
    if (message.type === 'stream_started') clip.sending.started(message);
    else if (message.type === 'stream_end') {
      pump?.settle(clip.sending.streamId, clip.sending.handle, null);
      this.#clips.delete(clip.id);
      this.#tell({ id: clip.id, type: 'kept', detail: { seconds: message.length / message.sample_rate } });
    } else if (message.type === 'error' && message.scope !== 'nothing') {
      this.#fail(clip, new AbrError(message.code, message.message, message.detail, message.retry_after));
    }
    return true;
  }

  /**
   * Ask for voices that were not asked for yet, and send of each clip what may go.
   *
   * @param {Pump | null} pump
   */
  send(pump) {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
    let waitS = Infinity;
    for (const clip of this.#clips.values()) {
      const way = clip.pump ?? pump;
      if (!way?.greeted) continue;
      try {
        this.#sendOf(clip, way);
      } catch (error) {
        if (!(error instanceof AbrError)) throw error;
        if (clip.voice) this.#fail(clip, error);
      }
      waitS = Math.min(waitS, clip.sending.wait(this.#clock.now(), way.unsent));
    }
    if (waitS < Infinity) this.#timer = this.#clock.later(this.#again, Math.ceil(waitS * 1000));
  }

  /**
   * @param {Clip} clip
   * @param {Pump} pump
   */
  #sendOf(clip, pump) {
    const { sending, voice } = clip;
    if (voice && !sending.asked) {
      clip.pump = pump;
      for (const message of sending.ask([], 0)) pump.send(message);
    }
    for (;;) {
      const message = sending.poll(this.#clock.now(), pump.unsent);
      if (!message) return;
      pump.send(message);
    }
  }

  /**
   * A connection is lost. A voice whose clip was sent whole may be made or not: nobody knows.
   *
   * @param {Pump | null} pump which; null: there is none.
   * @param {AbrError | null} [fault] there will be no other connection, for this reason.
   */
  lost(pump, fault = null) {
    const concerned = [...this.#clips.values()].filter((clip) => clip.pump === pump);
    for (const clip of concerned) clip.pump = null;
    for (const clip of concerned.filter(({ voice }) => voice)) {
      const unknown = new AbrError('connection_lost', 'the connection was lost before the voice was kept');
      if (fault || clip.sending.complete) this.#fail(clip, fault ?? unknown);
      else clip.sending.lost(this.#uuid);
    }
  }

  /** Nothing is sent or told any more. */
  close() {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
    this.#clips.clear();
  }

  /**
   * @param {Clip} clip
   * @param {AbrError} fault
   */
  #fail({ id }, { code, message, retryAfter }) {
    this.#clips.delete(id);
    this.#tell({ id, type: 'error', detail: { code, message, scope: 'stream', retryAfter } });
  }
}
