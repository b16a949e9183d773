export class Asking {
    /**
     * @param {string} id a UUID.
     * @param {Request} request
     */
    constructor(id: string, { text, open, ...request }: Request);
    /** It was asked for on the connection that is open now. */
    asked: boolean;
    /** Its number on that connection, once it has started. @type {number | null} */
    handle: number | null;
    /** Its name on the wire; a new one when it must be asked for anew. */
    streamId: string;
    /** The whole text so far. */
    get text(): string;
    /** How messages name the stream. */
    get stream(): string | number;
    /**
     * The messages that ask for it: for all of it, or, where it had started, for the rest.
     *
     * @param {[number, number][]} wanted track and pts of the next packet of each live track.
     * @param {number} played ticks heard.
     * @returns {ClientMessage[]}
     */
    ask(wanted: [number, number][], played: number): ClientMessage[];
    /**
     * More text, or its end.
     *
     * @param {string | null} piece null: the text ends.
     * @returns {ClientMessage[]}
     * @throws {AbrError} `text_after_end`.
     */
    write(piece: string | null): ClientMessage[];
    /**
     * The server has begun.
     *
     * @param {import('./messages.js').StreamStarted} message
     * @returns {ClientMessage[]} the text that it lacks after an `attach`.
     */
    started({ stream, token, chars }: import("./messages.js").StreamStarted): ClientMessage[];
    /** Where the text of the server at hand begins. */
    get said(): number;
    /**
     * This server speaks so much of the text and then stops; the rest is to be asked of another.
     *
     * @param {number} chars code points.
     * @param {string} [voice] that spoke, for where none was asked for: the rest alone might get another.
     * @returns {boolean} whether there is a rest, or may be.
     */
    elsewhere(chars: number, voice?: string): boolean;
    /** What ends it at the next connection, if a server holds it. @returns {ClientMessage[]} */
    get unwanted(): ClientMessage[];
    /**
     * The connection is lost.
     *
     * @param {() => string} again names it anew, where nothing of it has come.
     */
    lost(again: () => string): void;
    #private;
}
export type ClientMessage = import("./messages.js").ClientMessage;
export type Request = Omit<import("./messages.js").StreamStart, "type" | "stream_id">;
