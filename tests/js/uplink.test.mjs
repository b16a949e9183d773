/** Clips on their way up: their packets, their pace, and what becomes of them, in virtual time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ClipEncoder } from '../../abr_tts/web/static/clip.js';
import { Pace } from '../../abr_tts/web/static/pace.js';
import { decodePcm16 } from '../../abr_tts/web/static/pcm.js';
import { UNSENT_BYTES } from '../../abr_tts/web/static/sending.js';
import { Speaker } from '../../abr_tts/web/static/speaker.js';
import { load } from './vectors.mjs';
import { RATE, sample, surroundings, whole } from './world.mjs';

const ramp = (count, from = 0) => Float32Array.from({ length: count }, (_, n) => ((from + n) % 4096) / 4096);
const sine = (hz, seconds, rate) =>
  Float32Array.from({ length: seconds * rate }, (_, n) => 0.5 * Math.sin((2 * Math.PI * hz * n) / rate));
const joined = (packets) => packets.flatMap((packet) => [...decodePcm16(packet)]);

for (const { name, steps } of load('vectors/pace.json').vectors) {
  test(`pace: ${name}`, () => {
    const pace = new Pace();
    for (const { at, rate, sent, size, wait } of steps) {
      if (rate !== undefined) pace.set(rate, at);
      else if (sent !== undefined) pace.sent(sent, at);
      else if (wait === null) assert.equal(pace.wait(size, at), Infinity);
      else assert.ok(Math.abs(pace.wait(size, at) - wait) < 1e-3, `${pace.wait(size, at)}, not ${wait}`);
    }
  });
}

// ---- packets

test('samples at 16 kHz come through bit for bit, however they are cut, and the end is filled up', () => {
  const sound = ramp(1000);
  for (const size of [1, 319, 320, 321, 1000]) {
    const encoder = new ClipEncoder(16_000);
    const packets = [];
    for (let at = 0; at < 1000; at += size) packets.push(...encoder.push(sound.subarray(at, at + size)));
    packets.push(...encoder.finish());
    assert.deepEqual(
      packets.map(({ length }) => length),
      [640, 640, 640, 640],
    );
    assert.deepEqual(joined(packets), [...sound, ...new Float32Array(280)]);
  }
});

test('a clip of more than 16 kHz is resampled to it and keeps its length and its place', () => {
  for (const rate of [24_000, 44_100, 48_000]) {
    const encoder = new ClipEncoder(rate);
    assert.deepEqual(encoder.form, { codec: 'pcm16', sample_rate: 16_000, channels: 1 });
    const packets = [...encoder.push(sine(440, 1, rate)), ...encoder.finish()];
    assert.equal(packets.length, 50);
    const [got, wanted] = [joined(packets), sine(440, 1, 16_000)];
    const worst = Math.max(...got.slice(100, -100).map((value, n) => Math.abs(value - wanted[n + 100])));
    assert.ok(worst < 1e-3, `${rate}: ${worst}`);
  }
});

test('a clip of less keeps its rate, and a rate without whole frames is refused', () => {
  assert.equal(new ClipEncoder(8_000).form.sample_rate, 8_000);
  for (const rate of [11_025, 0, 4_000]) assert.throws(() => new ClipEncoder(rate), RangeError);
});

// ---- through the receiver

/** A player whose receiver is at hand, without a loudspeaker of its own. */
function playing() {
  const here = surroundings();
  const sink = {
    rate: RATE,
    open: () => new Promise(() => {}),
    release: () => {},
    unlock: async () => {},
    close: () => {},
    onlock: () => {},
    onport: () => {},
  };
  let ids = 100;
  let tell = () => {};
  const core = (hears) => {
    tell = hears;
    return { post: (command) => here.receiver.do(structuredClone(command)) };
  };
  const speaker = new Speaker({
    sink,
    core,
    uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
  });
  here.told = (event) => tell(event);
  here.pass = async (seconds) => {
    for (let k = 0; k < seconds * 100; k++) {
      await here.world.pass(0.01);
      for (const event of here.events.splice(0)) tell(event);
    }
  };
  here.player = speaker;
  here.heard = (type) => here.server.last.heard.filter((message) => message.type === type);
  return here;
}

test('a voice is made: the request, its sound in order, its end; the promise tells the seconds', async () => {
  const here = playing();
  const sound = ramp(16_000);
  const kept = here.player.addVoice('anna', sound, 16_000, { consent: true, text: 'hm', language: 'de' });
  await here.pass(1);
  assert.equal(await kept, 1);
  const [request] = here.heard('audio_start');
  const { voice, consent, text, language, purpose, codec, sample_rate } = request;
  assert.deepEqual(
    { voice, consent, text, language, purpose, codec, sample_rate },
    {
      voice: 'anna',
      consent: true,
      text: 'hm',
      language: 'de',
      purpose: 'reference',
      codec: 'pcm16',
      sample_rate: 16_000,
    },
  );
  const clip = here.heard('uplink_audio');
  assert.deepEqual(
    clip.map(({ pts }) => pts),
    [0, 1, 2, 3, 4].map((n) => n * 9_600),
  );
  assert.deepEqual(joined(clip.flatMap(({ packets }) => packets)), [...sound]);
  assert.equal(here.heard('text_end').length, 1);
  assert.equal(here.heard('bit_rate_hint').length, 0);
});

test('a refusal rejects with its code, and the player goes on', async () => {
  const here = playing();
  here.server.refusesClips = 'no_consent';
  const refused = here.player.addVoice('anna', ramp(16_000), 16_000, { consent: false });
  const outcome = assert.rejects(refused, { code: 'no_consent' });
  await here.pass(0.5);
  await outcome;
  assert.equal(here.heard('uplink_audio').length, 0);
  here.server.refusesClips = null;
  const kept = here.player.addVoice('anna', ramp(16_000), 16_000, { consent: true });
  await here.pass(1);
  assert.equal(await kept, 1);
});

test('pieces go as they come, and samples that fail give the voice up', async () => {
  const here = playing();
  const doors = [];
  async function* microphone() {
    yield ramp(3_200);
    await new Promise((resolve) => doors.push(resolve));
    throw new RangeError('unplugged');
  }
  const failed = here.player.addVoice('anna', microphone(), 16_000, { consent: true });
  const outcome = assert.rejects(failed, /unplugged/);
  await here.pass(0.5);
  assert.equal(here.heard('uplink_audio').length, 1);
  doors[0]();
  await here.pass(0.5);
  await outcome;
  assert.equal(here.heard('cancel').length, 1);
  assert.equal(here.heard('text_end').length, 0);
});

test('a conversion is heard like any speech, in its turn', async () => {
  const here = surroundings();
  here.server.frames = 20;
  here.speak({ text: 'Hello.' });
  const id = here.speak({ voice: 'bo', speed: 1.5, clip: 16_000 });
  here.receiver.do({ do: 'sound', id, samples: ramp(1_000) });
  here.receiver.do({ do: 'sound', id, samples: null });
  await here.world.pass(3);
  const types = here.server.last.heard.map(({ type }) => type);
  assert.ok(types.indexOf('audio_start') > types.indexOf('stream_start'));
  const { purpose, voice, speed } = here.server.last.heard.find(({ type }) => type === 'audio_start');
  assert.deepEqual([purpose, voice, speed], ['conversion', 'bo', 1.5]);
  const ends = here.of('end');
  assert.deepEqual(
    ends.map(({ detail }) => detail.report.complete),
    [true, true],
  );
  assert.deepEqual([...here.speaker.sound].slice(-19 * 960), [...whole(20)].slice(-19 * 960));
  assert.ok(sample(1) !== sample(2));
});

// ---- the pace

test('a rate of nothing holds a clip back, and another lets it go', async () => {
  const here = playing();
  here.server.kbps = 0;
  const kept = here.player.addVoice('anna', ramp(160_000), 16_000, { consent: true });
  await here.pass(2);
  const before = here.heard('uplink_audio').length; // what went until it knew: a second of 1000 kbit/s
  assert.ok(before <= 20, `${before}`);
  await here.pass(2);
  assert.equal(here.heard('uplink_audio').length, before);
  here.server.say(here.server.last, { type: 'flow_control', rate: 10_000, stream: 1 });
  await here.pass(1);
  assert.equal(await kept, 1);
});

test('a clip takes as long as the rate says', async () => {
  const here = playing();
  here.server.kbps = 800; // 100 000 bytes a second; a second of sound has 32 000, and a message 6 442
  const kept = here.player.addVoice('anna', ramp(480_000), 16_000, { consent: true });
  await here.pass(0.1);
  const [begin, before] = [here.world.time, here.heard('uplink_audio').length];
  await here.pass(5);
  const sent = (here.heard('uplink_audio').length - before) * 6_442;
  const allowed = 100_000 * (here.world.time - begin);
  assert.ok(sent <= allowed + 6_442 && sent >= allowed * 0.9, `${sent} bytes of ${allowed}`);
  await here.pass(5);
  assert.equal(await kept, 1);
});

test('no more is given to a link that holds 64 kB, until it has room', async () => {
  const here = playing();
  await here.world.pass(0.1);
  here.player.connect();
  await here.pass(0.1);
  here.server.last.unsent = UNSENT_BYTES - 6_000;
  const kept = here.player.addVoice('anna', ramp(48_000), 16_000, { consent: true });
  await here.pass(1);
  assert.equal(here.heard('uplink_audio').length, 0);
  here.server.last.unsent = 0;
  await here.pass(1);
  assert.equal(here.heard('uplink_audio').length, 15);
  assert.equal(await kept, 1);
});

// ---- a connection that is lost

test('a clip whose connection is lost in the middle is sent anew, under another name', async () => {
  const here = playing();
  here.server.kbps = 64;
  const kept = here.player.addVoice('anna', ramp(160_000), 16_000, { consent: true });
  await here.pass(1);
  const [first] = here.server.connections;
  assert.ok(here.heard('uplink_audio').length > 0);
  here.server.kbps = 10_000;
  here.server.close(first, 1006);
  await here.pass(4);
  assert.equal(await kept, 1);
  const again = here.heard('uplink_audio');
  assert.equal(again[0].pts, 0);
  assert.equal(again.flatMap(({ packets }) => packets).length, 500);
  const names = here.server.connections.map(
    ({ heard }) => heard.find(({ type }) => type === 'audio_start').stream_id,
  );
  assert.equal(new Set(names).size, 2);
});

test('where the whole clip was sent and no answer came, nobody claims to know', async () => {
  const here = playing();
  here.server.keeps = false;
  const lost = here.player.addVoice('anna', ramp(16_000), 16_000, { consent: true });
  const outcome = assert.rejects(lost, { code: 'connection_lost' });
  await here.pass(1);
  assert.equal(here.heard('text_end').length, 1);
  here.server.close(here.server.last, 1006);
  await here.pass(1);
  await outcome;
});

test('a server that cannot be reached rejects what waits', async () => {
  const here = playing();
  here.server.refuses = 1008;
  const never = here.player.addVoice('anna', ramp(16_000), 16_000, { consent: true });
  const outcome = assert.rejects(never, { code: 'connection_lost' });
  await here.pass(1);
  await outcome;
});

test('words on how to speak go with the request', async () => {
  const here = playing();
  here.player.speak('Hello.', { instruct: 'softly' });
  await here.pass(0.1);
  assert.equal(here.heard('stream_start')[0].instruct, 'softly');
});
