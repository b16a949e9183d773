/**
 * The canonical bytes of a message.
 *
 * @param {ClientMessage | ServerMessage} message
 * @returns {Uint8Array}
 * @throws {AbrError} `bad_field`: a value that the peer would refuse; nothing is clamped or cut.
 *   `unknown_type`: no message of the protocol.
 */
export function encode(message: ClientMessage | ServerMessage): Uint8Array;
/**
 * The message of `bytes`, which `side` sent.
 *
 * @param {Uint8Array} bytes one WebSocket message.
 * @param {'client' | 'server'} side each may send its own types only.
 * @param {MessageLimits} [limits]
 * @returns {any} a `ServerMessage` or a `ClientMessage` with every field. Packets are views of `bytes`.
 * @throws {AbrError} `message_too_big`, `bad_message` (not one msgpack value of the protocol's
 *   form), `unknown_type` (of a type or kind that `side` does not send), `bad_field`.
 */
export function decode(bytes: Uint8Array, side: "client" | "server", limits?: MessageLimits): any;
/**
 * The stream that a refused message was meant for, null if it names none; off the hot path.
 *
 * @param {Uint8Array} bytes
 * @param {MessageLimits} [limits]
 * @returns {number | string | null}
 */
export function streamOf(bytes: Uint8Array, limits?: MessageLimits): number | string | null;
/** @typedef {import('./messages.js').ClientMessage} ClientMessage */
/** @typedef {import('./messages.js').ServerMessage} ServerMessage */
/** @typedef {import('./forms.js').Field} Field */
/**
 * What is taken of one message: bytes, maps and arrays within each other, keys and values.
 *
 * @typedef {{ messageBytes: number, nesting: number, values: number }} MessageLimits
 */
/** The protocol's own limits (SPEC.md, Limits). @type {MessageLimits} */
export const MESSAGE_LIMITS: MessageLimits;
export type ClientMessage = import("./messages.js").ClientMessage;
export type ServerMessage = import("./messages.js").ServerMessage;
export type Field = import("./forms.js").Field;
/**
 * What is taken of one message: bytes, maps and arrays within each other, keys and values.
 */
export type MessageLimits = {
    messageBytes: number;
    nesting: number;
    values: number;
};
