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
export function createPlayer(wx: Wx, url: string, { token, ticketUrl, policy, startMs, wasm, WXWebAssembly }?: {
    token?: string;
    ticketUrl?: string;
    policy?: string;
    startMs?: number;
    wasm?: string;
    WXWebAssembly?: Wasm;
}): Speaker;
/**
 * @param {Wx} wx
 * @returns {import('./transport.js').Transport}
 */
export function wxTransport(wx: Wx): import("./transport.js").Transport;
/** @typedef {import('./speaker.js').Sink} Sink */
/** @implements {Sink} */
export class WxSink implements Sink {
    /** @param {Wx} wx */
    constructor(wx: Wx);
    /** @type {(locked: boolean) => void} */
    onlock: (locked: boolean) => void;
    /** @type {(opened: import('./speaker.js').Opened) => void} */
    onport: (opened: import("./speaker.js").Opened) => void;
    /** Hz of the context, which chooses it. */
    get rate(): number;
    /** An outlet, connected to the loudspeaker. */
    open(): Promise<{
        port: import("./feeder.js").Port;
        rate: number;
        cushionMs: number;
    }>;
    /** The outlet ends by itself; nothing of it is kept. */
    release(): void;
    unlock(): Promise<void>;
    close(): void;
    #private;
}
/**
 * What is used of a SocketTask.
 */
export type SocketTask = {
    onOpen(call: () => void): void;
    onMessage(call: (message: {
        data: ArrayBuffer | string;
    }) => void): void;
    onClose(call: (close: {
        code?: number;
        reason?: string;
    }) => void): void;
    onError(call: (error: unknown) => void): void;
    send(message: {
        data: ArrayBuffer;
    }): void;
    close(how: {
        code: number;
        reason: string;
    }): void;
};
/**
 * What is used of `wx`.
 */
export type Wx = {
    connectSocket(how: {
        url: string;
        protocols: string[];
    }): SocketTask;
    createWebAudioContext(): AudioContext;
    request(how: {
        url: string;
        method: string;
        dataType: string;
        success(answer: {
            statusCode: number;
            data: any;
            header: Record<string, string>;
        }): void;
        fail(error: unknown): void;
    }): unknown;
};
/**
 * `WXWebAssembly`.
 */
export type Wasm = {
    instantiate(path: string, imports: object): Promise<{
        instance: {
            exports: object;
        };
    }>;
};
export type Sink = import("./speaker.js").Sink;
import { Speaker } from './speaker.js';
