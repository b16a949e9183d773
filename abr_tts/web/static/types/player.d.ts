export { AbrError } from "./errors.js";
export { WebAudioSink } from "./sink.js";
export { Speech } from "./speech.js";
export class Player extends Speaker {
    /**
     * It connects when there is something to say.
     *
     * @param {string} [url] of the server, ws: or wss:, or relative to the page; the page's own server.
     * @param {Options} [options]
     */
    constructor(url?: string, { token, ticketUrl, policy, startMs, workerUrl, wasm, transport, sink }?: Options);
    #private;
}
export type Options = {
    /**
     * the key that the server wants; it goes into the WebSocket's subprotocols.
     */
    token?: string | undefined;
    /**
     * instead of a key, where the page's application answers a POST with
     * `{"ticket": "…"}`, a new one for each connection (SPEC.md, Connecting).
     */
    ticketUrl?: string | undefined;
    /**
     * one of the server's policies, for every speech that names none.
     */
    policy?: string | undefined;
    /**
     * speech held before the first sound; less than 200 on a proven link.
     */
    startMs?: number | undefined;
    /**
     * another Worker script: one that calls `serve` of `worker.js`.
     */
    workerUrl?: string | URL | undefined;
    /**
     * where `opus.wasm` lies, or what it holds.
     */
    wasm?: string | URL | import("./opus.js").OpusModule | undefined;
    /**
     * instead of a WebSocket; the receive path
     * then runs on the page's own thread.
     */
    transport?: import("./transport.js").Transport | undefined;
    /**
     * instead of the browser's loudspeaker.
     */
    sink?: import("./speaker.js").Sink | undefined;
};
import { Speaker } from './speaker.js';
