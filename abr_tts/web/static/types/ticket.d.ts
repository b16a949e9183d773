/** @typedef {import('./transport.js').Transport} Transport */
/** @typedef {import('./transport.js').Link} Link */
/**
 * @param {Transport} transport
 * @param {string} from the address that answers a POST with `{"ticket": …}`; cookies of its origin are sent.
 * @returns {Transport}
 */
export function ticketed(transport: Transport, from: string): Transport;
/**
 * @param {string} url
 * @param {string} ticket
 */
export function withTicket(url: string, ticket: string): string;
export type Transport = import("./transport.js").Transport;
export type Link = import("./transport.js").Link;
