/** @typedef {import('./transport.js').Transport} Transport */
/** @typedef {import('./transport.js').Link} Link */
/** Asks an address by POST: its status, what `Retry-After` says, and the JSON that it answers. @typedef {(address: string) => Promise<{ ok: boolean, retryAfter: string | null, body: any }>} Post */
/**
 * @param {Transport} transport
 * @param {string} from the address that answers a POST with `{"ticket": …}`; cookies of its origin are sent.
 * @param {Post} [post] how it is asked; by `fetch` if not given.
 * @returns {Transport}
 */
export function ticketed(transport: Transport, from: string, post?: Post): Transport;
/**
 * @param {string} url
 * @param {string} ticket
 */
export function withTicket(url: string, ticket: string): string;
export type Transport = import("./transport.js").Transport;
export type Link = import("./transport.js").Link;
/**
 * Asks an address by POST: its status, what `Retry-After` says, and the JSON that it answers.
 */
export type Post = (address: string) => Promise<{
    ok: boolean;
    retryAfter: string | null;
    body: any;
}>;
