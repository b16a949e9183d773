/**
 * What a speech was like for its listener: a record, told at its end.
 */

/** What a speech was like for its listener; times count from the request; `heard`: it was `text.slice(0, heard)`. @typedef {{ voice: string, sampleRate: number, firstSoundMs: number | null, playedMs: number, heard: number, rungs: Record<string, number>, switches: number, stalls: number, stallMs: number, bytes: number, badPackets: number, complete: boolean, reason: 'done' | 'cancelled' | 'stopped' }} Report */

/** Of a speech of which nothing is known yet. @returns {Report} */
export function blank() {
  return {
    voice: '',
    sampleRate: 0,
    firstSoundMs: null,
    playedMs: 0,
    heard: 0,
    rungs: {},
    switches: 0,
    stalls: 0,
    stallMs: 0,
    bytes: 0,
    badPackets: 0,
    complete: false,
    reason: 'done',
  };
}
