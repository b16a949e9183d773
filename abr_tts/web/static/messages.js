/**
 * The messages of the wire as types: the words of `protocol/SPEC.md`, nothing that runs.
 *
 * A message is a plain object with `type` and its fields under their names on the wire. What is
 * received has every field (null where nothing was said); what is sent may leave out those that
 * have a default.
 *
 * @module
 */

/** A stream: its handle, or its UUID. @typedef {number | string} StreamRef */
/** @typedef {[track: number, pts: number]} TrackPts */

/**
 * @typedef {{ type: 'hello', versions?: number[], level?: number, codecs?: string[],
 *   client?: string }} Hello
 */
/**
 * @typedef {{ type: 'stream_start', stream_id: string, text?: string, open?: boolean, voice?: string | null,
 *   language?: string | null, speed?: number, rung?: string | null, policy?: string | null, mode?: string,
 *   formats?: string[] | null, instruct?: string | null }} StreamStart
 */
/** @typedef {{ type: 'text', stream: StreamRef, text: string }} Text */
/** @typedef {{ type: 'text_end', stream: StreamRef }} TextEnd */
/**
 * @typedef {{ type: 'attach', stream_id: string, token: string, tracks?: TrackPts[],
 *   played?: number }} Attach
 */
/**
 * @typedef {{ type: 'audio_start', stream_id: string, codec: string, sample_rate: number, channels?: number,
 *   purpose?: string, consent?: boolean, voice?: string | null, text?: string, language?: string | null,
 *   speed?: number, rung?: string | null, policy?: string | null, mode?: string,
 *   formats?: string[] | null }} AudioStart
 */
/** @typedef {{ type: 'uplink_audio', stream: number, pts: number, packets: Uint8Array[] }} UplinkAudio */
/** @typedef {{ type: 'cancel', stream: StreamRef }} Cancel */
/** @typedef {{ type: 'pause', stream: StreamRef }} Pause */
/** @typedef {{ type: 'resume', stream: StreamRef }} Resume */
/**
 * @typedef {{ type: 'bit_rate_hint', stream: number, received: number, played: number, buffer_ms: number,
 *   highest?: TrackPts[], rtt_ms?: number, goodput_kbps?: number, jitter_ms?: number, loss?: number,
 *   stalls?: number, stall_ms?: number, hidden?: boolean, save_data?: boolean }} BitRateHint
 */
/** @typedef {{ type: 'ping', value: number, padding?: string }} Ping */
/** @typedef {{ type: 'pong', value: number }} Pong */

/**
 * @typedef {{ type: 'welcome', version: number, session: string, server: string, ping_ms: number,
 *   hint_ms: number, limits: Record<string, number> }} Welcome
 */
/**
 * @typedef {{ type: 'stream_started', stream: number, stream_id: string, token: string, voice: string,
 *   sample_rate: number, channels: number, codec: string, rung: string, chars: number }} StreamStarted
 */
/**
 * @typedef {{ type: 'track', stream: number, track: number, rank: number, rung: string, codec: string,
 *   sample_rate: number, channels: number, start: number, preroll: number, duration: number }} Track
 */
/** @typedef {{ type: 'audio', stream: number, track: number, pts: number, packets: Uint8Array[] }} Audio */
/**
 * @typedef {{ type: 'switch', stream: number, track: number, from: string, to: string, at: number,
 *   length: number, reason: string }} Switch
 */
/** @typedef {{ type: 'mark', stream: number, pts: number, begin: number, end: number }} Mark */
/**
 * @typedef {{ type: 'stream_end', stream: number, length: number, sample_rate: number, channels: number,
 *   codec: string, reason: string, chars?: number }} StreamEnd
 */
/**
 * @typedef {{ type: 'flow_control', rate: number, retry_after: number,
 *   stream: number | null }} FlowControl
 */
/** @typedef {{ type: 'going_away', deadline_ms: number, reason: string }} GoingAway */
/**
 * @typedef {{ type: 'error', code: string, message: string, scope: import('./errors.js').Scope,
 *   stream: number | null, stream_id: string | null, retry_after: number | null,
 *   detail: Record<string, unknown> }} ErrorMessage
 */

/**
 * @typedef {Hello | StreamStart | Text | TextEnd | Attach | AudioStart | UplinkAudio | Cancel | Pause
 *   | Resume | BitRateHint | Ping | Pong} ClientMessage
 */
/**
 * @typedef {Welcome | StreamStarted | Track | Audio | Switch | Mark | StreamEnd | FlowControl | GoingAway
 *   | ErrorMessage | Ping | Pong} ServerMessage
 */

export {};
