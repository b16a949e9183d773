/**
 * A ticket for each connection, got from the page's own application, which holds the key (SPEC.md, Connecting).
 *
 * A `Transport` around another one, so that nothing else need know.
 */

import { AbrError } from './errors.js';

/** @typedef {import('./transport.js').Transport} Transport */
/** @typedef {import('./transport.js').Link} Link */

/**
 * @param {Transport} transport
 * @param {string} from the address that answers a POST with `{"ticket": …}`; cookies of its origin are sent.
 * @returns {Transport}
 */
export function ticketed(transport, from) {
  return (url, protocols, told) => {
    /** @type {Link | null} */
    let link = null;
    let over = false;
    getTicket(from).then(
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
 * @returns {Promise<string>}
 */
async function getTicket(from) {
  const init = /** @type {RequestInit} */ ({ method: 'POST', credentials: 'same-origin', cache: 'no-store' });
  const answer = await fetch(from, init).catch(() => null);
  const { ticket } = (answer?.ok ? await answer.json().catch(() => null) : null) ?? {};
  if (typeof ticket === 'string') return ticket;
  const retryAfter = Number(answer?.headers.get('Retry-After')) || null;
  throw new AbrError('connect_failed', 'there is no ticket for this page now', {}, retryAfter);
}

/**
 * @param {string} url
 * @param {string} ticket
 */
export function withTicket(url, ticket) {
  return `${url}${url.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(ticket)}`;
}
