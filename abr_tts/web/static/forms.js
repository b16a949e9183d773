/**
 * The form of every control message: its fields in the order of SPEC.md, their bounds and defaults.
 *
 * The same table checks what comes in and what goes out. It has both sides, since the vectors are
 * of both; what a client sends and what it is sent share most checks.
 */

import {
  SAFE,
  array,
  boolean,
  free,
  integer,
  mapping,
  number,
  oneOf,
  pair,
  speech,
  streamRef,
  string,
  uuid,
} from './checks.js';
import { FRAME_TICKS } from './units.js';

/** @typedef {import('./checks.js').Check} Check */

/** The last media position of a stream: 24.8 hours. */
export const LAST_TICK = 2 ** 32 - 1;

/** Pre-roll frames of a track at most: 60 ms. */
export const PREROLL_MOST = 3;

/**
 * One field: its name, its check, and what stands for it where it is absent; without that it is
 * required.
 *
 * @typedef {{ name: string, check: Check, missing?: () => unknown }} Field
 */
/** @typedef {{ sides: string, fields: Field[] }} Form */

/**
 * @param {string} name
 * @param {Check} check
 * @returns {Field}
 */
const must = (name, check) => ({ name, check });

/**
 * @param {string} name
 * @param {Check} check
 * @param {unknown} [value] null: nothing is meant by its absence.
 * @returns {Field}
 */
const may = (name, check, value = null) => ({ name, check, missing: () => value });

/**
 * @param {string} name
 * @param {Check} check
 * @param {() => unknown} missing makes a new one each time, for it may be changed.
 * @returns {Field}
 */
const made = (name, check, missing) => ({ name, check, missing });

/**
 * @param {string} sides who sends it.
 * @param {...Field} fields
 * @returns {Form}
 */
const form = (sides, ...fields) => ({ sides, fields });

const HANDLE = integer(1, 255);
const TRACK = integer(0, 65_535);
const TICK = integer(0, LAST_TICK);
const FRAME_TICK = integer(0, LAST_TICK - (LAST_TICK % FRAME_TICKS), FRAME_TICKS);
const RATE = integer(8_000, 192_000);
const CHANNELS = integer(1, 2);
const COUNT = integer(0, SAFE);
const NAME = string(1, 64);
const LABEL = string(0, 200);
const VOICE = string(1, 200);
const WORD = string(1, 32);
const LANGUAGE = string(1, 35);
const SPEED = number(0.25, 4);
const CODECS = array(WORD, 1, 16);
const SECONDS = number(0, 86_400);

/** @type {Record<string, Form>} */
export const FORMS = {
  hello: form(
    'client',
    made('versions', array(integer(0, 65_535), 1, 16), () => [1]),
    may('level', integer(0, 2), 1),
    made('codecs', CODECS, () => ['opus', 'pcm16', 'ulaw']),
    may('client', LABEL, ''),
  ),
  stream_start: form(
    'client',
    must('stream_id', uuid),
    may('text', speech, ''),
    may('open', boolean, false),
    may('voice', VOICE),
    may('language', LANGUAGE),
    may('speed', SPEED, 1),
    may('rung', NAME),
    may('policy', NAME),
    may('mode', WORD, 'stream'),
    may('formats', CODECS),
    may('instruct', string(1, 500)),
  ),
  text: form('client', must('stream', streamRef), must('text', speech)),
  text_end: form('client', must('stream', streamRef)),
  attach: form(
    'client',
    must('stream_id', uuid),
    must('token', string(1, 200)),
    made('tracks', array(pair(TRACK, integer(-2_880, LAST_TICK)), 0, 64), () => []),
    may('played', TICK, 0),
  ),
  audio_start: form(
    'client',
    must('stream_id', uuid),
    must('codec', WORD),
    must('sample_rate', RATE),
    may('channels', CHANNELS, 1),
    may('purpose', WORD, 'reference'),
    may('consent', boolean, false),
    may('voice', VOICE),
    may('text', string(0, 2_000), ''),
    may('language', LANGUAGE),
    may('speed', SPEED, 1),
    may('rung', NAME),
    may('policy', NAME),
    may('mode', WORD, 'stream'),
    may('formats', CODECS),
  ),
  cancel: form('client', must('stream', streamRef)),
  pause: form('client', must('stream', streamRef)),
  resume: form('client', must('stream', streamRef)),
  ping: form('client server', must('value', COUNT), may('padding', string(0, 4_096))),
  pong: form('client server', must('value', COUNT)),
  welcome: form(
    'server',
    must('version', integer(0, 65_535)),
    must('session', string(0, 64)),
    may('server', LABEL, ''),
    may('ping_ms', integer(1, 3_600_000), 20_000),
    may('hint_ms', integer(1, 60_000), 100),
    made('limits', mapping(COUNT, 64), () => ({})),
  ),
  stream_started: form(
    'server',
    must('stream', HANDLE),
    must('stream_id', uuid),
    must('token', LABEL),
    must('voice', LABEL),
    must('sample_rate', RATE),
    must('channels', CHANNELS),
    must('codec', WORD),
    must('rung', NAME),
    may('chars', TICK, 0),
  ),
  track: form(
    'server',
    must('stream', HANDLE),
    must('track', TRACK),
    must('rank', integer(0, 1)),
    must('rung', NAME),
    must('codec', WORD),
    must('sample_rate', RATE),
    must('channels', CHANNELS),
    must('start', FRAME_TICK),
    may('preroll', integer(0, PREROLL_MOST), 0),
    may('duration', integer(1, 3), 1),
  ),
  switch: form(
    'server',
    must('stream', HANDLE),
    must('track', TRACK),
    must('from', string(0, 64)),
    must('to', NAME),
    must('at', FRAME_TICK),
    must('length', integer(0, 48_000)),
    must('reason', string(0, 500)),
  ),
  mark: form('server', must('stream', HANDLE), must('pts', TICK), must('begin', TICK), must('end', TICK)),
  stream_end: form(
    'server',
    must('stream', HANDLE),
    must('length', COUNT),
    must('sample_rate', RATE),
    must('channels', CHANNELS),
    must('codec', string(0, 32)),
    may('reason', WORD, 'done'),
    may('chars', TICK, 0),
  ),
  flow_control: form(
    'server',
    must('rate', number(0, 1e6)),
    may('retry_after', SECONDS, 0),
    may('stream', HANDLE),
  ),
  going_away: form('server', must('deadline_ms', integer(0, 86_400_000)), may('reason', LABEL, '')),
  error: form(
    'server',
    must('code', NAME),
    must('message', string(0, 1_000)),
    must('scope', oneOf('connection', 'stream', 'nothing')),
    may('stream', HANDLE),
    may('stream_id', uuid),
    may('retry_after', SECONDS),
    made(
      'detail',
      mapping((value) => free(value), 64),
      () => ({}),
    ),
  ),
};
