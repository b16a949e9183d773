/**
 * @param {Scope} scope
 * @param {(start: Start) => Place} place
 */
export function serve(scope: Scope, place: (start: Start) => Place): void;
export type Place = import("./terms.js").Place;
export type Start = {
    settings: import("./terms.js").Settings;
    wasm: string | import("./opus.js").OpusModule;
};
/**
 * The Worker's globals.
 */
export type Scope = {
    onmessage: ((event: MessageEvent) => void) | null;
    postMessage(message: unknown): void;
    close(): void;
};
