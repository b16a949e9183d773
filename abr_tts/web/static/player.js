/**
 * The public face in a browser.
 *
 *     import { Player } from './player.js';
 *     const player = new Player('wss://example.org/v1/stream');
 *     button.onclick = () => player.speak('Hello.');
 *
 * Everything loads from beside this file, without eval and without blob: URLs, so that it works under
 * `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'`.
 */

import { pageCore, workerCore } from './core.js';
import { uuid } from './place.js';
import { WebAudioSink } from './sink.js';
import { Speaker } from './speaker.js';

export { AbrError } from './errors.js';
export { WebAudioSink } from './sink.js';
export { Speech } from './speech.js';

/**
 * @typedef {object} Options
 * @property {string} [token] the key that the server wants; it goes into the WebSocket's subprotocols.
 * @property {string} [ticketUrl] instead of a key, where the page's application answers a POST with
 *   `{"ticket": "…"}`, a new one for each connection (SPEC.md, Connecting).
 * @property {string} [policy] one of the server's policies, for every speech that names none.
 * @property {number} [startMs] speech held before the first sound; less than 200 on a proven link.
 * @property {string | URL} [workerUrl] another Worker script: one that calls `serve` of `worker.js`.
 * @property {string | URL | import('./opus.js').OpusModule} [wasm] where `opus.wasm` lies, or what it holds.
 * @property {import('./transport.js').Transport} [transport] instead of a WebSocket; the receive path
 *   then runs on the page's own thread.
 * @property {import('./speaker.js').Sink} [sink] instead of the browser's loudspeaker.
 */

/** Where the protocol lives on a server (SPEC.md). */
const PATH = '/v1/stream';

export class Player extends Speaker {
  #leave = () => {};

  /**
   * It connects when there is something to say.
   *
   * @param {string} [url] of the server, ws: or wss:, or relative to the page; the page's own server.
   * @param {Options} [options]
   */
  constructor(url = PATH, { token, ticketUrl, policy, startMs, workerUrl, wasm, transport, sink } = {}) {
    const address = streamUrl(url);
    const startTicks = startMs === undefined ? undefined : startMs * 48;
    /** @type {import('./worker.js').Start} */
    const start = {
      settings: { url: address.href, token, ticketUrl: ticketAddress(ticketUrl), startTicks },
      wasm: wasmOf(wasm),
    };
    const script = workerUrl ?? new URL('./worker.js', import.meta.url);
    /** @type {import('./speaker.js').Core | undefined} */
    let core;
    super({
      sink: sink ?? new WebAudioSink({ worklet: new URL('./worklet.js', import.meta.url) }),
      core: (tell) => (core = transport ? pageCore(start, tell, transport) : workerCore(start, script, tell)),
      uuid,
      policy,
    });
    if (core) this.#watchPage(core);
  }

  /**
   * Stop, say goodbye and let the loudspeaker go.
   *
   * @override
   */
  close() {
    this.#leave();
    super.close();
  }

  /**
   * Tell the receive path what the page knows: whether it is seen, whether the network is back.
   *
   * @param {import('./speaker.js').Core} core
   */
  #watchPage(core) {
    const { saveData = false } =
      /** @type {{ connection?: { saveData?: boolean } }} */ (navigator).connection ?? {};
    const see = () => core.post({ do: 'page', hidden: document.hidden, saveData });
    const back = () => core.post({ do: 'online' });
    // A browser may keep a page that was left, silent and with its connection: the server would wait for it.
    const leave = () => this.speeches.forEach((speech) => speech.stop());
    document.addEventListener('visibilitychange', see);
    globalThis.addEventListener('online', back);
    globalThis.addEventListener('pagehide', leave);
    this.#leave = () => {
      document.removeEventListener('visibilitychange', see);
      globalThis.removeEventListener('online', back);
      globalThis.removeEventListener('pagehide', leave);
    };
    see();
  }
}

/**
 * @param {string} url
 */
function streamUrl(url) {
  const address = new URL(url, globalThis.location?.href);
  if (address.pathname === '/') address.pathname = PATH;
  const scheme = { 'http:': 'ws:', 'https:': 'wss:' }[address.protocol];
  if (scheme) return new URL(address.href.replace(/^https?:/, scheme));
  return address;
}

/**
 * A Worker may lie elsewhere than the page.
 *
 * @param {string | undefined} from
 */
function ticketAddress(from) {
  return from === undefined ? undefined : new URL(from, globalThis.location?.href).href;
}

/**
 * @param {string | URL | import('./opus.js').OpusModule | undefined} wasm
 */
function wasmOf(wasm) {
  if (wasm === undefined || typeof wasm === 'string' || wasm instanceof URL) {
    return new URL(wasm ?? './opus.wasm', wasm === undefined ? import.meta.url : globalThis.location.href)
      .href;
  }
  return wasm;
}
