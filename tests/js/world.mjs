/** A player's surroundings in virtual time: a clock, a server that is told what to do, a loudspeaker. */

import { decode, encode } from '../../abr_tts/web/static/codec.js';
import { Outlet } from '../../abr_tts/web/static/outlet.js';
import { Receiver } from '../../abr_tts/web/static/receiver.js';

export const RATE = 48_000;
const FRAME = 960;

/** Timers that go off when the world has come that far; time passes in no time. */
export class World {
  time = 0;
  /** Timers that went off. */
  calls = 0;
  #timers = [];
  #count = 0;

  now = () => this.time;

  later = (call, ms) => {
    const timer = { at: this.time + Math.max(0, ms) / 1000, call, number: this.#count++ };
    this.#timers.push(timer);
    return timer;
  };

  cancel = (timer) => {
    this.#timers = this.#timers.filter((one) => one !== timer);
  };

  every(ms, call) {
    this.later(() => {
      call();
      this.every(ms, call);
    }, ms);
  }

  /** Let `seconds` pass; promises that are kept in between are heard. */
  async pass(seconds) {
    const until = this.time + seconds;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [first] = this.#timers
        .filter(({ at }) => at <= until)
        .sort((a, b) => a.at - b.at || a.number - b.number);
      if (!first) break;
      this.#timers = this.#timers.filter((one) => one !== first);
      this.time = Math.max(this.time, first.at);
      this.calls += 1;
      first.call();
    }
    this.time = until;
  }
}

/** Sample n of what the server speaks: exact in 16 bits, and no two frames alike. */
export const sample = (n) => (Math.round(12_000 * Math.sin(n / 7.3)) || 0) / 32_768;

const packet = (pts) => {
  const view = new DataView(new ArrayBuffer(2 * FRAME));
  for (let n = 0; n < FRAME; n++) view.setInt16(2 * n, sample(pts + n) * 32_768, true);
  return new Uint8Array(view.buffer);
};

/** What a listener must hear of a speech of `frames`. */
export const whole = (frames) => Float32Array.from({ length: frames * FRAME }, (_, n) => sample(n));

/**
 * A server of PCM. Each connection gets a line of its own in `connections`: what the client said, and what it
 * is told. `frames`: length of each speech; `paceMs`: between two frames (0: all at once).
 */
export class Server {
  connections = [];
  frames = 50;
  paceMs = 0;
  /** Clauses: pts, and the text in code points. */
  marks = [[0, 0, 5]];
  /** Accepts `attach`. */
  resumes = false;
  /** Refuses connections with this close. */
  refuses = null;
  /** Greets. */
  greets = true;
  /** Says nothing of streams. */
  silent = false;
  #world;
  #streams = new Map();

  constructor(world) {
    this.#world = world;
  }

  transport = (url, protocols, told) => {
    const line = { url, protocols, heard: [], told, open: true, handles: 0, sent: [] };
    this.connections.push(line);
    this.#world.later(() => (this.refuses === null ? told.opened() : this.close(line, this.refuses)), 1);
    return {
      send: (bytes) => line.open && this.#hear(line, decode(bytes, 'client')),
      close: (code) => {
        line.open = false;
        line.closed = code;
      },
      get clogged() {
        return line.clogged ?? false;
      },
      get unsent() {
        return line.unsent ?? 0;
      },
    };
  };

  get last() {
    return this.connections[this.connections.length - 1];
  }

  say(line, message) {
    if (!line.open) return;
    line.sent.push(message);
    this.#world.later(() => line.open && line.told.received(encode(message)), 1);
  }

  /** The connection is lost. */
  close(line, code) {
    if (!line.open) return;
    line.open = false;
    line.told.closed(code, '');
  }

  #hear(line, message) {
    line.heard.push(message);
    if (message.type === 'hello' && this.greets)
      this.say(line, { type: 'welcome', version: 1, session: 's' });
    if (message.type === 'ping') this.say(line, { type: 'pong', value: message.value });
    if (message.type === 'stream_start' && !this.silent) this.#start(line, message.stream_id, 0);
    if (message.type === 'attach') this.#attach(line, message);
    if (message.type === 'audio_start') this.#takeClip(line, message);
    if (message.type === 'text_end') this.#endClip(line, message.stream);
  }

  /** What is done with a clip is up to `refusesClips` (a code), `kbps` (the rate it is told) and `keeps`. */
  #takeClip(line, { stream_id: id, purpose, voice }) {
    if (this.refusesClips) {
      this.say(line, {
        type: 'error',
        code: this.refusesClips,
        message: 'no',
        scope: 'stream',
        stream_id: id,
      });
      return;
    }
    const stream = ++line.handles;
    (line.clips ??= new Map()).set(stream, { id, purpose });
    const tone = { voice: voice ?? 'v', sample_rate: RATE, channels: 1, codec: 'pcm16', rung: 'pcm' };
    this.say(line, { type: 'stream_started', stream, stream_id: id, token: `t${id}`, ...tone });
    if (this.kbps !== undefined) this.say(line, { type: 'flow_control', rate: this.kbps, stream });
  }

  #endClip(line, stream) {
    const clip = line.clips?.get(stream);
    if (!clip || this.keeps === false) return;
    if (clip.purpose === 'conversion') this.#sound(line, stream, 0);
    else
      this.say(line, {
        type: 'stream_end',
        stream,
        length: 16_000,
        sample_rate: 16_000,
        channels: 1,
        codec: '',
      });
  }

  #attach(line, { stream_id: id, tracks }) {
    const stream = this.#streams.get(id);
    if (this.resumes && stream) this.#start(line, id, tracks.length ? tracks[0][1] / FRAME : 0);
    else
      this.say(line, {
        type: 'error',
        code: 'resume_lost',
        message: 'not held',
        scope: 'stream',
        stream_id: id,
      });
  }

  #start(line, id, from) {
    this.#sound(line, this.#started(line, id), from);
  }

  /** Its number. */
  #started(line, id) {
    this.#streams.set(id, true);
    const stream = ++line.handles;
    const tone = { voice: 'v', sample_rate: RATE, channels: 1, codec: 'pcm16', rung: 'pcm' };
    this.say(line, {
      type: 'stream_started',
      stream,
      stream_id: id,
      token: `t${id}`,
      chars: this.chars ?? 0,
      ...tone,
    });
    return stream;
  }

  /** A speech by hand: so many frames and clauses at once, and no end. */
  begin(line, id, frames, marks) {
    const stream = this.#started(line, id);
    this.#open(line, stream, marks);
    for (let pts = 0; pts < frames * FRAME; pts += FRAME)
      this.say(line, { type: 'audio', stream, track: 0, pts, packets: [packet(pts)] });
  }

  #sound(line, stream, from) {
    this.#open(line, stream, this.marks);
    this.#speak(line, stream, from);
  }

  #open(line, stream, marks) {
    this.say(line, {
      type: 'track',
      stream,
      track: 0,
      rank: 0,
      rung: 'pcm',
      codec: 'pcm16',
      sample_rate: RATE,
      channels: 1,
      start: 0,
    });
    for (const [pts, begin, end] of marks) this.say(line, { type: 'mark', stream, pts, begin, end });
  }

  #speak(line, stream, frame) {
    if (frame >= this.frames) {
      this.say(line, {
        type: 'stream_end',
        stream,
        length: this.frames * FRAME,
        sample_rate: RATE,
        channels: 1,
        codec: 'pcm16',
      });
      return;
    }
    this.say(line, { type: 'audio', stream, track: 0, pts: frame * FRAME, packets: [packet(frame * FRAME)] });
    if (this.paceMs) this.#world.later(() => this.#speak(line, stream, frame + 1), this.paceMs);
    else this.#speak(line, stream, frame + 1);
  }
}

/** A loudspeaker of the world's time, and all that came out of it. */
export class Loudspeaker {
  heard = [];
  /** It does not run: a page without a gesture, a device that is gone. */
  stands = false;
  outlet = new Outlet(RATE);
  port = {
    postMessage: (order) => {
      this.outlet.obey(structuredClone(order));
      if ('ask' in order) this.port.onmessage?.({ data: this.outlet.told });
    },
    onmessage: null,
    close: () => {},
  };

  constructor(world) {
    world.every(10, () => {
      if (this.stands || this.outlet.stopped) return;
      const out = new Float32Array(RATE / 100);
      this.outlet.fill(out);
      this.heard.push(...out);
      const news = this.outlet.news(FRAME);
      if (news) this.port.onmessage?.({ data: news });
    });
  }

  /** What was heard, from the first sound to the last. */
  get sound() {
    const first = this.heard.findIndex((value) => value);
    return this.heard.slice(Math.max(0, first - 1), this.heard.findLastIndex((value) => value) + 1);
  }
}

/** A receiver with its world around it. */
export function surroundings(settings = {}) {
  const world = new World();
  const server = new Server(world);
  const speaker = new Loudspeaker(world);
  const events = [];
  let ids = 0;
  const place = {
    transport: server.transport,
    opus: Promise.resolve(null),
    clock: world,
    random: () => 1,
    uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
  };
  const receiver = new Receiver({ url: 'ws://server/', ...settings }, place, (event) =>
    events.push({ ...event, time: world.time }),
  );
  const speak = (request = { text: 'Hello.' }) => {
    const id = place.uuid();
    receiver.do({ do: 'speak', id, request, rate: RATE });
    return id;
  };
  receiver.do({ do: 'sink', port: speaker.port, rate: RATE, cushionMs: 100 });
  return {
    world,
    server,
    speaker,
    receiver,
    events,
    speak,
    of: (type) => events.filter((event) => event.type === type),
  };
}
