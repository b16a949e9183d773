/**
 * @param {string | null | undefined} token
 */
export function protocolsFor(token: string | null | undefined): string[];
export function webSocket(url: string, protocols: string[], told: Told): Link;
/**
 * What a transport tells. After `closed` it tells nothing more.
 */
export type Told = {
    opened(): void;
    received(data: Uint8Array | string): void;
    closed(code: number, reason: string): void;
};
/**
 * An open way: `clogged` while bytes wait in it that were not sent.
 */
export type Link = {
    send(bytes: Uint8Array): void;
    close(code: number, reason: string): void;
    readonly clogged: boolean;
};
/**
 * Opens one.
 */
export type Transport = (url: string, protocols: string[], told: Told) => Link;
