/**
 * An outlet in a ScriptProcessor, where there is no AudioWorklet: plain http, old web views,
 * mini-programs. It runs on the page's own thread.
 */

import { Outlet } from './outlet.js';

/** Milliseconds of sound that lie ready: a page's thread is held up now and then. A guess. */
export const SCRIPT_CUSHION_MS = 300;

/** Samples of the buffer: 43 ms at 48 kHz. */
const BUFFER = 2_048;

/**
 * @param {BaseAudioContext} context
 * @param {(told: import('./outlet.js').Told) => void} tell what a feeder wants to hear.
 * @returns {{ node: ScriptProcessorNode, obey: (order: import('./outlet.js').Order) => void }}
 */
export function scriptNode(context, tell) {
  // One input that nothing is connected to: old Safari does not run a node without.
  const node = context.createScriptProcessor(BUFFER, 1, 1);
  const outlet = new Outlet(context.sampleRate);
  node.onaudioprocess = ({ outputBuffer }) => {
    outlet.fill(outputBuffer.getChannelData(0));
    tell(outlet.told);
  };
  /** @param {import('./outlet.js').Order} order */
  const obey = (order) => {
    outlet.obey(order);
    if ('ask' in order) tell(outlet.told);
    if (outlet.stopped) node.onaudioprocess = null;
  };
  return { node, obey };
}
