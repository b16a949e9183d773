/** The download of what the server decided for this page's last speech, as it recorded it. */

import { ask, html } from './dom.js';

/** Times that are tried: the server writes the file once it has heard that the listener is done. */
const TRIES = 6;

/** Milliseconds between two. */
const AGAIN_MS = 500;

/** What ends a whole recording (`abr_tts/trace.py`). */
const END = /"end":/;

/**
 * Hand the file to the browser.
 *
 * @param {string} stream the speech's id.
 * @param {string} key the API key, empty for none.
 * @throws {Error} there is none; the message is the server's.
 */
export async function download(stream, key) {
  const text = await fetched(stream, key);
  const url = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const link = html('a', { href: url, download: `abr-tts-${stream.slice(0, 8)}.jsonl` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * @param {string} stream
 * @param {string} key
 */
async function fetched(stream, key) {
  let last = '';
  for (let n = 0; n < TRIES; n++) {
    if (n) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const answer = await ask(`demo/traces/${stream}`, key);
    last = await answer.text();
    if (answer.ok && (n === TRIES - 1 || END.test(last.slice(-200)))) return last;
    if (!answer.ok && answer.status !== 404) break;
  }
  throw new Error(last.trim());
}
