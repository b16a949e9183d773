/** @typedef {import('./pump.js').Pump} Pump */
/** @typedef {import('./sending.js').Wish} Wish */
/** `pump`: the connection on which it was asked for. @typedef {{ id: string, sending: Sending, voice: boolean, pump: Pump | null }} Clip */
export class Clips {
    /**
     * @param {import('./terms.js').Place} place
     * @param {(tidings: import('./terms.js').Tidings) => void} tell
     * @param {() => void} again called when it is time to send more.
     */
    constructor({ clock, uuid }: import("./terms.js").Place, tell: (tidings: import("./terms.js").Tidings) => void, again: () => void);
    /** A voice waits to be made. */
    get waiting(): boolean;
    /**
     * Make a voice. `kept` {seconds} or `error` follows.
     *
     * @param {string} id
     * @param {Wish} request
     * @param {number} rate Hz of the samples that follow.
     */
    make(id: string, request: Wish, rate: number): void;
    /**
     * Send the sound of a speech as well.
     *
     * @param {string} id
     * @param {Sending} sending
     */
    add(id: string, sending: Sending): void;
    /**
     * More of a clip, or its end.
     *
     * @param {string} id
     * @param {Float32Array | null} samples
     */
    write(id: string, samples: Float32Array | null): void;
    /**
     * The speech that it belongs to was asked for.
     *
     * @param {string} id
     * @param {Pump} pump where.
     */
    carry(id: string, pump: Pump): void;
    /** Whether anything of a clip is under way on this connection. @param {Pump} pump */
    on(pump: Pump): boolean;
    /**
     * It is over, or nobody wants it any more; of a voice that was to be made the server is told.
     *
     * @param {string} id
     */
    drop(id: string): void;
    /**
     * A message of a stream. Whether it is of a voice that is made, and nobody else's.
     *
     * @param {string | null} streamId
     * @param {import('./messages.js').ServerMessage} message
     * @param {Pump | null} pump
     */
    hear(streamId: string | null, message: import("./messages.js").ServerMessage, pump: Pump | null): boolean;
    /**
     * Ask for voices that were not asked for yet, and send of each clip what may go.
     *
     * @param {Pump | null} pump
     */
    send(pump: Pump | null): void;
    /**
     * A connection is lost. A voice whose clip was sent whole may be made or not: nobody knows.
     *
     * @param {Pump | null} pump which; null: there is none.
     * @param {AbrError | null} [fault] there will be no other connection, for this reason.
     */
    lost(pump: Pump | null, fault?: AbrError | null): void;
    /** Nothing is sent or told any more. */
    close(): void;
    #private;
}
export type Pump = import("./pump.js").Pump;
export type Wish = import("./sending.js").Wish;
/**
 * `pump`: the connection on which it was asked for.
 */
export type Clip = {
    id: string;
    sending: Sending;
    voice: boolean;
    pump: Pump | null;
};
import { Sending } from './sending.js';
import { AbrError } from './errors.js';
