/** @implements {Sink} */
export class WebAudioSink implements Sink {
    /**
     * @param {{ worklet: string | URL, Context?: typeof AudioContext }} parts where `worklet.js` lies;
     *   another AudioContext than the browser's.
     */
    constructor({ worklet, Context }: {
        worklet: string | URL;
        Context?: typeof AudioContext;
    });
    /** @type {(locked: boolean) => void} */
    onlock: (locked: boolean) => void;
    /** @type {(opened: Opened) => void} */
    onport: (opened: Opened) => void;
    /** Hz of the context, which chooses it. */
    get rate(): number;
    /** An outlet, connected to the loudspeaker. */
    open(): Promise<import("./speaker.js").Opened>;
    /** The outlet ends by itself, as whoever feeds it says; nothing of it is kept. */
    release(): void;
    unlock(): Promise<void>;
    close(): void;
    #private;
}
export type Opened = import("./speaker.js").Opened;
export type Sink = import("./speaker.js").Sink;
