/**
 * The way to the server: a WebSocket, behind the few words that another transport can speak as well.
 *
 * Knows bytes and closes; it must not know what the bytes mean.
 */

import { SUBPROTOCOL } from './connection.js';
import { AbrError } from './errors.js';

/**
 * What a transport tells. After `closed` it tells nothing more; `error` says why there was no connection
 * at all, where that is known.
 *
 * @typedef {{ opened(): void, received(data: Uint8Array | string): void,
 *   closed(code: number, reason: string, error?: AbrError | null): void }} Told
 */
/**
 * An open way: `clogged` while bytes wait in it that were not sent; `unsent`: how many, as far as is known.
 *
 * @typedef {{ send(bytes: Uint8Array): void, close(code: number, reason: string): void, readonly clogged: boolean,
 *   readonly unsent?: number }} Link
 */
/** Opens one. @typedef {(url: string, protocols: string[], told: Told) => Link} Transport */

/** A browser cannot set headers on a WebSocket: the key goes as one more subprotocol (SPEC.md, Connecting). */
const KEY_PROTOCOL = 'abr-tts.key.';

/** Milliseconds after an error in which its close comes, a guess; Chromium sends none where a policy forbids to connect. */
const ERROR_MS = 2_000;

/** What a subprotocol's name is made of (RFC 9110 section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The longest reason of a close in bytes (RFC 6455 section 5.5). */
const REASON_BYTES = 123;

/**
 * @param {string | null | undefined} token
 */
export function protocolsFor(token) {
  return token ? [SUBPROTOCOL, KEY_PROTOCOL + token] : [SUBPROTOCOL];
}

/**
 * A WebSocket of the browser or of Node.
 *
 * @type {Transport}
 */
export function webSocket(url, protocols, told) {
  /** @type {WebSocket} */
  let socket;
  try {
    socket = new WebSocket(url, protocols);
  } catch (error) {
    return never(error, protocols, told);
  }
  let [opened, over] = [false, false];
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    opened = true;
    told.opened();
  };
  socket.onmessage = ({ data }) => told.received(typeof data === 'string' ? data : new Uint8Array(data));
  socket.onclose = async ({ code, reason }) => {
    over = true;
    told.closed(code, reason, opened ? null : await refusal(url, protocols));
  };
  socket.onerror = () => {
    setTimeout(() => over || told.closed(1008, '', forbidden(url)), ERROR_MS);
  };
  return {
    send: (bytes) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
    },
    close: (code, reason) => socket.close(allowed(code), shortened(reason)),
    get clogged() {
      return socket.bufferedAmount > 0;
    },
    get unsent() {
      return socket.bufferedAmount;
    },
  };
}

/** @param {string} url */
function forbidden(url) {
  const words = `this page may not connect to ${new URL(url).host}: see its content security policy`;
  return new AbrError('connect_failed', words);
}

/**
 * The browser does not even try: no WebSocket's address, ws: from a page of https:, a key that is no token,
 * which its words would tell.
 *
 * @param {unknown} error
 * @param {string[]} protocols
 * @param {Told} told
 * @returns {Link}
 */
function never(error, protocols, told) {
  const fault = protocols.every((name) => TOKEN.test(name))
    ? new AbrError('connect_failed', `the browser refuses this connection: ${error}`)
    : new AbrError('unauthorized', 'no key has other characters than letters, digits and - . _ ~');
  void Promise.resolve().then(() => told.closed(1008, '', fault)); // once the caller has its link
  return { send: () => {}, close: () => {}, clogged: false };
}

/**
 * Why a server refuses the connection: a browser hides that from a page, but tells the answer to a plain
 * request, at least of the page's own server.
 *
 * @param {string} url
 * @param {string[]} protocols
 * @returns {Promise<AbrError | null>} null: not known, or no refusal.
 */
async function refusal(url, protocols) {
  const key = protocols.find((name) => name.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
  /** @type {Record<string, string>} */
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const address = url.replace(/^ws/, 'http');
  const answer = await fetch(address, { headers, cache: 'no-store' }).catch(() =>
    key ? unkeyed(address) : null,
  );
  if (answer?.status === 401)
    return new AbrError('unauthorized', 'the server wants a key, and this is none of its keys');
  if (answer?.status === 403)
    return new AbrError('unauthorized', 'pages of this origin may not connect to the server');
  if (answer?.status !== 503) return null;
  return new AbrError(
    'overloaded',
    'the server takes no more connections now',
    {},
    Number(answer.headers.get('Retry-After')) || null,
  );
}

/**
 * The server of another site may be asked without a key alone; what it says of the page's origin holds anyway.
 *
 * @param {string} address
 * @returns {Promise<Response | null>}
 */
async function unkeyed(address) {
  const answer = await fetch(address, { cache: 'no-store' }).catch(() => null);
  return answer?.status === 403 ? answer : null;
}

/**
 * A page may close with 1000 or a number of its own only.
 *
 * @param {number} code
 */
export function allowed(code) {
  return code === 1000 ? 1000 : code + 3000;
}

/** @param {string} reason */
function shortened(reason) {
  return reason.replace(/[^\x20-\x7e]/g, '?').slice(0, REASON_BYTES);
}

/**
 * The address with a word of this listener's own, unless it names one: a proxy before several servers sends
 * who connects again to the one that holds its streams (SPEC.md, Connecting).
 *
 * @param {string} url
 * @param {string} word
 */
export function withSession(url, word) {
  return /[?&]session=/.test(url) ? url : `${url}${url.includes('?') ? '&' : '?'}session=${word}`;
}
