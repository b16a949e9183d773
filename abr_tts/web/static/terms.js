/**
 * The words between a player and its receive path, as types; nothing that runs.
 *
 * @module
 */

/** @typedef {import('./speaking.js').Request} Request */
/** An event: of a speech, or of the player where `id` is null. @typedef {{ id: string | null, type: string, detail: Record<string, unknown> }} Tidings */

/**
 * What a player tells its receiver.
 *
 * `voice` begins a clip of which a voice is made; `sound` brings more of a clip (null: its end), of a voice
 * or of a speech to convert; `forget` gives a voice up.
 *
 * @typedef {{ do: 'connect' } | { do: 'speak', id: string, request: Request, rate: number }
 *   | { do: 'voice', id: string, request: import('./sending.js').Wish, rate: number }
 *   | { do: 'sound', id: string, samples: Float32Array | null } | { do: 'forget', id: string }
 *   | { do: 'write', id: string, text: string | null } | { do: 'pause' | 'resume' | 'stop', id: string }
 *   | { do: 'sink', port: import('./feeder.js').Port, rate: number, cushionMs: number }
 *   | { do: 'page', hidden: boolean, saveData: boolean } | { do: 'online' } | { do: 'close' }} Command
 */
/**
 * `token`: the server's key. `ticketUrl`: where a ticket is got instead. `startTicks`: sound wanted before the first frame, see `Playout`. `client`:
 * software and version, for the server's log.
 *
 * @typedef {{ url: string, token?: string | null, ticketUrl?: string | null, startTicks?: number, client?: string }} Settings
 */
/**
 * What differs from place to place. `opus` gives null where Opus cannot be decoded: PCM is asked for.
 * `post`: how a ticket is asked for, where there is no `fetch`.
 *
 * @typedef {{ transport: import('./transport.js').Transport, opus: Promise<import('./decoding.js').Opus | null>,
 *   clock: import('./pump.js').Clock, random(): number, uuid(): string, post?: import('./ticket.js').Post }} Place
 */

export {};
