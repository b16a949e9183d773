/**
 * @param {BaseAudioContext} context
 * @param {(told: import('./outlet.js').Told) => void} tell what a feeder wants to hear.
 * @returns {{ node: ScriptProcessorNode, obey: (order: import('./outlet.js').Order) => void }}
 */
export function scriptNode(context: BaseAudioContext, tell: (told: import("./outlet.js").Told) => void): {
    node: ScriptProcessorNode;
    obey: (order: import("./outlet.js").Order) => void;
};
/** Milliseconds of sound that lie ready: a page's thread is held up now and then. A guess. */
export const SCRIPT_CUSHION_MS: 300;
