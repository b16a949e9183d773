/** Sounds and streams for the tests beside: sines, speech-like noise, tracks as a server sends them. */

import { Listener } from '../../abr_tts/web/static/listener.js';

/** The frames of `signal(second)` at `rate`, 20 ms each. */
export function framesOf(signal, rate, count, first = 0) {
  const size = rate / 50;
  return Array.from({ length: count }, (_, k) =>
    Float32Array.from({ length: size }, (_, n) => signal(((first + k) * size + n) / rate)),
  );
}

export const sine =
  (hz, gain = 0.5, phase = 0.3) =>
  (second) =>
    gain * Math.sin(2 * Math.PI * hz * second + phase);

/** A generator of numbers from 0 to 1 that is the same each time (Lehmer, MINSTD). */
export function chance(seed) {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

export function joinedFrames(frames) {
  const out = new Float32Array(frames.reduce((sum, frame) => sum + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    out.set(frame, at);
    at += frame.length;
  }
  return out;
}

/** Samples as the packets of a 16-bit PCM track. */
export const pcmPackets = (frames) =>
  frames.map((frame) => new Uint8Array(Int16Array.from(frame, (x) => Math.round(x * 32_767)).buffer));

/** A `track` message. */
export const track = (number, rank, start, more = {}) => ({
  type: 'track',
  stream: 1,
  track: number,
  rank,
  rung: `pcm${number}`,
  codec: 'pcm16',
  sample_rate: 16_000,
  channels: 1,
  start,
  preroll: 0,
  duration: 1,
  ...more,
});

export const audio = (number, pts, packets) => ({ type: 'audio', stream: 1, track: number, pts, packets });
export const end = (length, sample_rate, reason = 'done') => ({
  type: 'stream_end',
  stream: 1,
  length,
  sample_rate,
  channels: 1,
  codec: 'pcm16',
  reason,
});
export const switched = (number, at, to = '', length = 960) => ({
  type: 'switch',
  stream: 1,
  track: number,
  from: '',
  to,
  at,
  length,
  reason: '',
});

/** All that a listener gives while it need not fade for want of the next frame. */
export function rest(listener) {
  const frames = [];
  while (listener.canRender) frames.push(listener.render());
  return joinedFrames(frames);
}

/** A listener that was told these messages. */
export function told(settings, ...messages) {
  const listener = new Listener({ outRate: 48_000, startTicks: 0, ...settings });
  for (const message of messages) listener.onMessage(message);
  return listener;
}
