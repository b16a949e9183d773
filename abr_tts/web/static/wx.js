/**
 * A player for mini-programs (WeChat and those after its model), made of `wx.*` alone: no WebSocket, no
 * Worker, no AudioWorklet, no MessageChannel, no fetch, no TextEncoder, no EventTarget is wanted.
 *
 *     const player = createPlayer(wx, 'wss://example.org/v1/stream', { wasm: '/abr-tts/opus.wasm' });
 *     player.speak('你好。');
 *
 * `opus.wasm` lies in the mini-program's own package: its WebAssembly loads from a path only. Without it
 * the server is asked for PCM. Sound needs base library 2.19 (WebAudioContext).
 */

import { loadOpus } from './opus.js';
import { uuidOf } from './place.js';
import { Receiver } from './receiver.js';
import { SCRIPT_CUSHION_MS, scriptNode } from './script.js';
import { Speaker } from './speaker.js';
import { allowed } from './transport.js';

/**
 * What is used of a SocketTask.
 *
 * @typedef {{ onOpen(call: () => void): void, onMessage(call: (message: { data: ArrayBuffer | string }) => void): void,
 *   onClose(call: (close: { code?: number, reason?: string }) => void): void, onError(call: (error: unknown) => void): void,
 *   send(message: { data: ArrayBuffer }): void, close(how: { code: number, reason: string }): void }} SocketTask
 */
/**
 * What is used of `wx`.
 *
 * @typedef {{ connectSocket(how: { url: string, protocols: string[] }): SocketTask, createWebAudioContext(): AudioContext,
 *   request(how: { url: string, method: string, dataType: string, success(answer: { statusCode: number, data: any,
 *   header: Record<string, string> }): void, fail(error: unknown): void }): unknown }} Wx
 */
/** `WXWebAssembly`. @typedef {{ instantiate(path: string, imports: object): Promise<{ instance: { exports: object } }> }} Wasm */

/**
 * @param {Wx} wx
 * @param {string} url of the server, ws: or wss:, with its path.
 * @param {{ token?: string, ticketUrl?: string, policy?: string, startMs?: number, wasm?: string, WXWebAssembly?: Wasm }} [options]
 *   `ticketUrl`: where your application answers a POST with `{"ticket": …}`, instead of a key; it is asked by
 *   `wx.request`, so that its host stands in the mini-program's list of servers.
 *   `wasm`: the path of `opus.wasm` in the package; `WXWebAssembly`: the platform's own, where it is not global.
 */
export function createPlayer(wx, url, { token, ticketUrl, policy, startMs, wasm, WXWebAssembly } = {}) {
  const startTicks = startMs === undefined ? undefined : startMs * 48;
  const assembly = WXWebAssembly ?? /** @type {{ WXWebAssembly?: Wasm }} */ (globalThis).WXWebAssembly;
  /** @type {import('./terms.js').Place} */
  const place = {
    transport: wxTransport(wx),
    opus: opusOf(assembly, wasm),
    clock,
    random: Math.random,
    uuid,
    post: wxPost(wx),
  };
  return new Speaker({
    sink: new WxSink(wx),
    core: (tell) => {
      const settings = { url, token, ticketUrl, startTicks, client: 'abr-tts-js/wx' };
      const receiver = new Receiver(settings, place, tell);
      return { post: (command) => receiver.do(command) };
    },
    uuid,
    policy,
  });
}

/** @type {import('./pump.js').Clock} */
const clock = {
  now: () => Date.now() / 1000,
  later: (call, ms) => setTimeout(call, ms),
  cancel: (timer) => clearTimeout(timer),
};

/** It names a stream and guards nothing, so that chance need not be a cryptographer's. */
function uuid() {
  return uuidOf(Uint8Array.from({ length: 16 }, () => Math.floor(Math.random() * 256)));
}

/**
 * @param {Wasm | undefined} assembly
 * @param {string | undefined} path
 */
async function opusOf(assembly, path) {
  if (!assembly || !path) return null;
  return loadOpus(async () => (await assembly.instantiate(path, {})).instance).catch(() => null);
}

/**
 * @param {Wx} wx
 * @returns {import('./ticket.js').Post}
 */
function wxPost(wx) {
  return (url) =>
    new Promise((resolve, reject) => {
      wx.request({
        url,
        method: 'POST',
        dataType: 'json',
        success: ({ statusCode, data, header }) => {
          const retryAfter = header?.['Retry-After'] ?? header?.['retry-after'] ?? null;
          resolve({ ok: statusCode >= 200 && statusCode < 300, retryAfter, body: data });
        },
        fail: reject,
      });
    });
}

/**
 * @param {Wx} wx
 * @returns {import('./transport.js').Transport}
 */
export function wxTransport(wx) {
  return (url, protocols, told) => {
    const task = wx.connectSocket({ url, protocols });
    let over = false;
    /** @param {number} code @param {string} reason */
    const end = (code, reason) => {
      if (!over) told.closed(code, reason);
      over = true;
    };
    task.onOpen(() => told.opened());
    task.onMessage(({ data }) => told.received(typeof data === 'string' ? data : new Uint8Array(data)));
    task.onClose(({ code = 1006, reason = '' }) => end(code, reason));
    task.onError(() => end(1006, ''));
    return {
      send: (bytes) => task.send({ data: /** @type {ArrayBuffer} */ (bytes.slice().buffer) }),
      close: (code, reason) => task.close({ code: allowed(code), reason }),
      clogged: false, // the platform does not tell
    };
  };
}

/** @typedef {import('./speaker.js').Sink} Sink */

/** @implements {Sink} */
export class WxSink {
  /** @type {(locked: boolean) => void} */
  onlock = () => {};
  /** @type {(opened: import('./speaker.js').Opened) => void} */
  onport = () => {};
  #wx;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {AudioNode | null} */
  #node = null;

  /** @param {Wx} wx */
  constructor(wx) {
    this.#wx = wx;
  }

  /** Hz of the context, which chooses it. */
  get rate() {
    return this.#here.sampleRate;
  }

  get #here() {
    this.#context ??= this.#wx.createWebAudioContext();
    return this.#context;
  }

  /** An outlet, connected to the loudspeaker. */
  async open() {
    const context = this.#here;
    await this.unlock();
    /** @type {import('./feeder.js').Port} */
    const port = { postMessage: (order) => obey(order), onmessage: null, close: () => {} };
    const { node, obey } = scriptNode(context, (data) => port.onmessage?.({ data }));
    node.connect(context.destination);
    this.#node = node;
    return { port, rate: context.sampleRate, cushionMs: SCRIPT_CUSHION_MS };
  }

  /** The outlet ends by itself; nothing of it is kept. */
  release() {
    this.#node?.disconnect();
    this.#node = null;
  }

  async unlock() {
    if (this.#here.state !== 'running') await this.#here.resume();
  }

  close() {
    this.release();
    this.#context?.close();
    this.#context = null;
  }
}
