/**
 * The globals of an AudioWorklet, which TypeScript's library of the page does not have.
 */
export type WorkletScope = {
    sampleRate: number;
    AudioWorkletProcessor: new () => {
        port: MessagePort;
    };
    registerProcessor(name: string, processor: unknown): void;
};
