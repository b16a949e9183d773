/**
 * @param {string | null | undefined} token
 */
export function protocolsFor(token: string | null | undefined): string[];
export function webSocket(url: string, protocols: string[], told: Told): Link;
/**
 * A page may close with 1000 or a number of its own only.
 *
 * @param {number} code
 */
export function allowed(code: number): number;
/**
 * The address with a word of this listener's own, unless it names one: a proxy before several servers sends
 * who connects again to the one that holds its streams (SPEC.md, Connecting).
 *
 * @param {string} url
 * @param {string} word
 */
export function withSession(url: string, word: string): string;
/**
 * What a transport tells. After `closed` it tells nothing more; `error` says why there was no connection
 * at all, where that is known.
 */
export type Told = {
    opened(): void;
    received(data: Uint8Array | string): void;
    closed(code: number, reason: string, error?: AbrError | null): void;
};
/**
 * An open way: `clogged` while bytes wait in it that were not sent; `unsent`: how many, as far as is known.
 */
export type Link = {
    send(bytes: Uint8Array): void;
    close(code: number, reason: string): void;
    readonly clogged: boolean;
    readonly unsent?: number;
};
/**
 * Opens one.
 */
export type Transport = (url: string, protocols: string[], told: Told) => Link;
import { AbrError } from './errors.js';
