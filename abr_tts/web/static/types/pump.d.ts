export class Pump {
    /**
     * @param {(told: import('./transport.js').Told) => import('./transport.js').Link} dial
     * @param {import('./messages.js').Hello} hello
     * @param {Clock} clock
     * @param {Host} host
     */
    constructor(dial: (told: import("./transport.js").Told) => import("./transport.js").Link, hello: import("./messages.js").Hello, clock: Clock, host: Host);
    /** Whether the server greeted. */
    get greeted(): boolean;
    /** The last round trip in ms, null before the first. */
    get rttMs(): number | null;
    /** Bytes that wait on this side, as far as is known. */
    get unsent(): number;
    /** Payload bytes that came. */
    get received(): number;
    /** What came lately, in kbit/s; null when nothing did. */
    get goodputKbps(): number | null;
    /**
     * What the page says of itself, for the reports.
     *
     * @param {{ hidden: boolean, saveData: boolean }} page
     */
    set page({ hidden, saveData }: {
        hidden: boolean;
        saveData: boolean;
    });
    /**
     * @param {ClientMessage} message
     * @throws {AbrError} what the server would answer; nothing was sent.
     */
    send(message: ClientMessage): void;
    /**
     * A stream is over for this side: the last report goes at once, what still comes is ignored.
     *
     * @param {string} id
     * @param {number | null} handle
     * @param {import('./report.js').Position | null} position where it was heard to its end.
     */
    settle(id: string, handle: number | null, position: import("./report.js").Position | null): void;
    /** Something changed that the server should hear of, if it is time. */
    report(): void;
    /** Say goodbye; nothing is told any more. */
    close(): void;
    #private;
}
export type ClientMessage = import("./messages.js").ClientMessage;
export type ServerMessage = import("./messages.js").ServerMessage;
/**
 * The clock and its timers; seconds, and milliseconds as `setTimeout` has them.
 */
export type Clock = {
    now(): number;
    later(call: () => void, ms: number): unknown;
    cancel(timer: any): void;
};
/**
 * Whom a pump serves. `welcome`: the server greeted. `message`: of a stream (its UUID), of so many
 * bytes. `failed`: a fault of one stream that we saw, or (null) a warning. `positions`: of every stream
 * that plays, by handle. `lost`: the end, with the WebSocket's code and what the server or we said last.
 */
export type Host = {
    welcome(): void;
    message(id: string | null, message: ServerMessage, size: number): void;
    failed(id: string | null, error: AbrError, scope: string): void;
    positions(): Map<number, import("./report.js").Position>;
    lost(code: number, error: AbrError | null): void;
};
import { AbrError } from './errors.js';
