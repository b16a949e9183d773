/** Connections tried in a row without a `welcome` before speeches that wait are given up: some three minutes of backing off. A guess. */
export const TRIES_MOST: 10;
export class Receiver {
    /**
     * @param {Settings} settings
     * @param {Place} place
     * @param {(tidings: Tidings) => void} tell
     */
    constructor(settings: Settings, place: Place, tell: (tidings: Tidings) => void);
    /** @param {Command} command */
    do(command: Command): void;
    #private;
}
export type Mark = import("./speaking.js").Mark;
export type Request = import("./speaking.js").Request;
export type ServerMessage = import("./messages.js").ServerMessage;
/**
 * An event: of a speech, or of the player where `id` is null.
 */
export type Tidings = {
    id: string | null;
    type: string;
    detail: Record<string, unknown>;
};
/**
 * What a player tells its receiver.
 */
export type Command = {
    do: "connect";
} | {
    do: "speak";
    id: string;
    request: Request;
    rate: number;
} | {
    do: "write";
    id: string;
    text: string | null;
} | {
    do: "pause" | "resume" | "stop";
    id: string;
} | {
    do: "sink";
    port: import("./feeder.js").Port;
    rate: number;
    cushionMs: number;
} | {
    do: "page";
    hidden: boolean;
    saveData: boolean;
} | {
    do: "online";
} | {
    do: "close";
};
export type Settings = {
    url: string;
    token?: string | null;
    startTicks?: number;
    client?: string;
};
/**
 * What differs from place to place. `opus` gives null where Opus cannot be decoded: PCM is asked for.
 */
export type Place = {
    transport: import("./transport.js").Transport;
    opus: Promise<import("./decoding.js").Opus | null>;
    clock: import("./pump.js").Clock;
    random(): number;
    uuid(): string;
};
