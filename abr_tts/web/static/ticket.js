/**
 * A ticket for each connection, got from the page's own application, which holds the key (SPEC.md, Connecting).
 *
 * A `Transport` around another one, so that nothing else need know.
 */

import { AbrError } from './errors.js';

/** @typedef {import('./transport.js').Transport} Transport */
/** @typedef {import('./transport.js').Link} Link */
/** Asks an address by POST: its status, what `Retry-After` says, and the JSON that it answers. @typedef {(address: string) => Promise<{ ok: boolean, retryAfter: string | null, body: any }>} Post */

/**
 * @param {Transport} transport
 * @param {string} from the address that answers a POST with `{"ticket": …}`; cookies of its origin are sent.
 * @param {Post} [post] how it is asked; by `fetch` if not given.
 * @returns {Transport}
 */
export function ticketed(transport, from, post = byFetch) {
  return (url, protocols, told) => {
    /** @type {Link | null} */
    let link = null;
    let over = false;
    getTicket(from, post).then(
      (ticket) => {
        if (!over) link = transport(withTicket(url, ticket), protocols, told);
      },
      (error) => {
        if (!over) told.closed(1006, '', error);
        over = true;
      },
    );
    return {
      send: (bytes) => link?.send(bytes),
      close: (code, reason) => {
        over = true;
        link?.close(code, reason);
      },
      get clogged() {
        return link?.clogged ?? true;
      },
      get unsent() {
        return link?.unsent;
      },
    };
  };
}

/**
 * @param {string} from
 * @param {Post} post
 * @returns {Promise<string>}
 */
async function getTicket(from, post) {
  const answer = await post(from).catch(() => null);
  const ticket = answer?.ok ? answer.body?.ticket : null;
  if (typeof ticket === 'string') return ticket;
  const retryAfter = Number(answer?.retryAfter) || null;
  throw new AbrError('connect_failed', 'there is no ticket for this page now', {}, retryAfter);
}

/** @type {Post} */
async function byFetch(address) {
  const init = /** @type {RequestInit} */ ({ method: 'POST', credentials: 'same-origin', cache: 'no-store' });
  const answer = await fetch(address, init);
  const body = answer.ok ? await answer.json().catch(() => null) : null;
  return { ok: answer.ok, retryAfter: answer.headers.get('Retry-After'), body };
}

/**
 * @param {string} url
 * @param {string} ticket
 */
export function withTicket(url, ticket) {
  return `${url}${url.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(ticket)}`;
}
