/**
 * The receive path in a Worker of its own, which a busy page does not hold up.
 *
 * The first message brings the settings, all others are commands. A Worker script with another
 * transport imports `serve` and gives it a place of its own.
 */

import { browserPlace } from './place.js';
import { Receiver } from './receiver.js';

/** @typedef {import('./terms.js').Place} Place */
/** @typedef {{ settings: import('./terms.js').Settings, wasm: string | import('./opus.js').OpusModule }} Start */
/** The Worker's globals. @typedef {{ onmessage: ((event: MessageEvent) => void) | null, postMessage(message: unknown): void, close(): void }} Scope */

/** Milliseconds that the last messages may take to leave. */
const GOODBYE_MS = 1_000;

/**
 * @param {Scope} scope
 * @param {(start: Start) => Place} place
 */
export function serve(scope, place) {
  /** @type {Receiver | null} */
  let receiver = null;
  scope.onmessage = ({ data }) => {
    receiver ??= new Receiver(data.settings, place(data), (tidings) => scope.postMessage(tidings));
    if (data.do) receiver.do(data);
    if (data.do === 'close') setTimeout(() => scope.close(), GOODBYE_MS);
  };
  scope.postMessage('ready');
}

serve(/** @type {Scope} */ (/** @type {unknown} */ (globalThis)), ({ wasm }) => browserPlace(wasm));
