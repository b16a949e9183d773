export { TRIES_MOST } from "./lines.js";
export class Receiver {
    /**
     * @param {Settings} settings
     * @param {import('./terms.js').Place} place
     * @param {(tidings: import('./terms.js').Tidings) => void} tell
     */
    constructor(settings: Settings, place: import("./terms.js").Place, tell: (tidings: import("./terms.js").Tidings) => void);
    /** @param {Command} command */
    do(command: Command): void;
    #private;
}
export type Mark = import("./speaking.js").Mark;
export type Pump = import("./pump.js").Pump;
export type ServerMessage = import("./messages.js").ServerMessage;
export type Command = import("./terms.js").Command;
export type Request = import("./terms.js").Request;
export type Settings = import("./terms.js").Settings;
