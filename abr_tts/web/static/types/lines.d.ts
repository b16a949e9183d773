/** @typedef {import('./terms.js').Settings} Settings */
/** @typedef {import('./terms.js').Place} Place */
/** Connections tried in a row without a `welcome` before speeches that wait are given up: some three minutes of backing off. A guess. */
export const TRIES_MOST: 10;
/**
 * Whom connections serve. `message`, `failed`, `positions`: as of a `Pump`, of this connection. `lost`: it has
 * ended, and what ran there needs another. `pending`: something waits for a connection. `gaveUp`: there will be
 * none. `tell`: events of the player.
 *
 * @typedef {{ welcome(): void, pending(): boolean, lost(pump: Pump): void,
 *   gaveUp(code: number, error: AbrError | null, fault: AbrError): void, again(): void,
 *   message(pump: Pump, id: string | null, message: import('./messages.js').ServerMessage, size: number): void,
 *   failed(id: string | null, error: AbrError, scope: string): void,
 *   positions(pump: Pump): Map<number, import('./report.js').Position>,
 *   tell(type: string, detail: Record<string, unknown>): void }} Host
 */
export class Lines {
    /**
     * @param {Settings} settings
     * @param {Place} place
     * @param {Host} host
     */
    constructor(settings: Settings, place: Place, host: Host);
    /** Where new things are asked. @type {Pump | null} */
    current: Pump | null;
    /** What the page says of itself, for the reports. @param {{ hidden: boolean, saveData: boolean }} page */
    see(page: {
        hidden: boolean;
        saveData: boolean;
    }): void;
    /**
     * Open a connection, unless there is one or its time has not come.
     *
     * @param {boolean} opus whether Opus can be decoded.
     */
    dial(opus: boolean): void;
    /**
     * Its server stops: what runs there goes on, new things are asked elsewhere.
     *
     * @param {Pump} pump
     * @param {boolean} used something runs there. Where nothing ever did, another one is not dialled at once:
     *   it may be the same server.
     */
    leave(pump: Pump, used: boolean): void;
    /** Hang up where nothing runs. @param {(pump: Pump) => boolean} used */
    sweep(used: (pump: Pump) => boolean): void;
    /** The wait is over, or the network is back. */
    hurry(): void;
    /** Say goodbye everywhere; nothing is told any more. */
    close(): void;
    #private;
}
export type Settings = import("./terms.js").Settings;
export type Place = import("./terms.js").Place;
/**
 * Whom connections serve. `message`, `failed`, `positions`: as of a `Pump`, of this connection. `lost`: it has
 * ended, and what ran there needs another. `pending`: something waits for a connection. `gaveUp`: there will be
 * none. `tell`: events of the player.
 */
export type Host = {
    welcome(): void;
    pending(): boolean;
    lost(pump: Pump): void;
    gaveUp(code: number, error: AbrError | null, fault: AbrError): void;
    again(): void;
    message(pump: Pump, id: string | null, message: import("./messages.js").ServerMessage, size: number): void;
    failed(id: string | null, error: AbrError, scope: string): void;
    positions(pump: Pump): Map<number, import("./report.js").Position>;
    tell(type: string, detail: Record<string, unknown>): void;
};
import { Pump } from './pump.js';
import { AbrError } from './errors.js';
