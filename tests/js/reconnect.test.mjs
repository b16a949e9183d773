/** Connections that are lost: when the player connects again, and what becomes of its speeches. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TRIES_MOST } from '../../abr_tts/web/static/receiver.js';
import { surroundings, whole } from './world.mjs';

const waits = (of) => of('reconnecting').map(({ detail }) => detail.inMs);

test('the first retry is at once, later ones back off to a minute, and then it is given up', async () => {
  const { world, server, speak, of } = surroundings();
  server.refuses = 1006;
  speak();
  await world.pass(600);
  assert.deepEqual(
    waits(of),
    [0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1000),
  );
  assert.equal(server.connections.length, TRIES_MOST + 1);
  assert.deepEqual(
    of('error').map(({ detail }) => detail.code),
    ['connect_failed', 'connect_failed'],
  );
});

test('a welcome sets the count back', async () => {
  const { world, server, speak, of } = surroundings();
  server.refuses = 1006;
  server.silent = true;
  speak();
  await world.pass(2);
  server.refuses = null;
  await world.pass(3);
  server.close(server.last, 1006);
  await world.pass(1);
  assert.deepEqual(waits(of), [0, 1000, 2000, 0]);
  assert.equal(of('open').length, 2);
});

test('every connection names the same word for proxies, unless the address has one', async () => {
  for (const [url, address] of [
    ['ws://server/v1/stream', /^ws:\/\/server\/v1\/stream\?session=[0-9a-f-]{36}$/],
    ['ws://server/v1/stream?a=b', /\?a=b&session=[0-9a-f-]{36}$/],
    ['ws://server/v1/stream?session=mine', /\?session=mine$/],
  ]) {
    const { world, server, speak } = surroundings({ url });
    server.silent = true;
    speak();
    await world.pass(0.2);
    server.close(server.last, 1006);
    await world.pass(0.2);
    const [first, second] = server.connections.map((line) => line.url);
    assert.match(first, address);
    assert.equal(second, first);
  }
});

test('a network that is back need not be waited for', async () => {
  const { world, server, receiver, speak, of } = surroundings();
  server.refuses = 1006;
  speak();
  await world.pass(20);
  const { length } = server.connections;
  server.refuses = null;
  receiver.do({ do: 'online' });
  await world.pass(0.1);
  assert.equal(server.connections.length, length + 1);
  assert.equal(of('open').length, 1);
});

test('what a server refuses for good is not tried again', async () => {
  const { world, server, speak, of } = surroundings();
  server.greets = false;
  speak();
  await world.pass(0.1);
  server.say(server.last, { type: 'error', code: 'unauthorized', message: 'no key', scope: 'connection' });
  await world.pass(60);
  assert.equal(server.connections.length, 1);
  assert.deepEqual(
    of('error')
      .map(({ detail }) => detail.code)
      .sort(),
    ['unauthorized', 'unauthorized'],
  );
});

test('a full server is asked again when it said so', async () => {
  const { world, server, speak, of } = surroundings();
  server.greets = false;
  speak();
  await world.pass(0.1);
  server.greets = true;
  server.say(server.last, {
    type: 'error',
    code: 'overloaded',
    message: 'full',
    scope: 'connection',
    retry_after: 7,
  });
  await world.pass(10);
  assert.deepEqual(waits(of), [7000]);
  assert.equal(of('end').length, 1);
});

test('a speech of which nothing has come is asked for again, under a new name', async () => {
  const { world, server, speak, of } = surroundings();
  server.silent = true;
  speak();
  await world.pass(0.5);
  server.silent = false;
  server.close(server.last, 1006);
  await world.pass(3);
  const ids = server.connections.map(
    ({ heard }) => heard.find(({ type }) => type === 'stream_start').stream_id,
  );
  assert.equal(new Set(ids).size, 2);
  assert.equal(of('end').length, 1);
});

test('a server that resumes is heard without a seam', async () => {
  const { world, server, speaker, speak, of } = surroundings();
  Object.assign(server, { paceMs: 15, frames: 100, resumes: true });
  speak();
  await world.pass(0.8);
  server.close(server.last, 1006);
  await world.pass(4);
  const [attach] = server.last.heard.filter(({ type }) => type === 'attach');
  assert.ok(attach.played > 0 && attach.played <= speaker.outlet.taken);
  assert.equal(of('end')[0].detail.report.stalls, 0);
  assert.deepEqual(Float32Array.from(speaker.sound), whole(100).slice(0, speaker.sound.length));
  assert.ok(speaker.sound.length > 100 * 960 - 8);
});

test('text that the server lacks is sent again after an attach', async () => {
  const { world, server, speak, receiver } = surroundings();
  Object.assign(server, { paceMs: 20, frames: 100, resumes: true });
  const id = speak({ text: 'One ', open: true });
  await world.pass(0.3);
  receiver.do({ do: 'write', id, text: '𝄞two' });
  receiver.do({ do: 'write', id, text: null });
  server.chars = 5;
  server.close(server.last, 1006);
  await world.pass(0.3);
  const said = server.last.heard.filter(({ type }) => type.startsWith('text'));
  assert.deepEqual(
    said.map(({ type, text = '' }) => type + text),
    ['texttwo', 'text_end'],
  );
});

test('text that is written while a server takes the speech up again is sent once', async () => {
  const { world, server, speak, receiver } = surroundings();
  Object.assign(server, { paceMs: 20, frames: 100, resumes: true, chars: 4 });
  const id = speak({ text: 'One ', open: true });
  await world.pass(0.3);
  server.close(server.last, 1006);
  await world.pass(0.0035); // attach has been sent, stream_started is on its way
  assert.ok(server.last.heard.some(({ type }) => type === 'attach'));
  receiver.do({ do: 'write', id, text: 'two' });
  await world.pass(0.3);
  const said = server.last.heard.filter(({ type }) => type === 'text');
  assert.deepEqual(
    said.map(({ text }) => text),
    ['two'],
  );
});

test('a pause and its end that the server could not hear are told at the next connection', async () => {
  const { world, server, speak, receiver } = surroundings();
  Object.assign(server, { paceMs: 20, frames: 200, resumes: true });
  const id = speak();
  await world.pass(0.5);
  for (const wish of ['pause', 'resume']) {
    server.close(server.last, 1006);
    receiver.do({ do: wish, id });
    await world.pass(0.3);
    const said = server.last.heard.filter(({ type }) => type === 'pause' || type === 'resume');
    assert.deepEqual(
      said.map(({ type, stream }) => [type, stream]),
      [[wish, 1]],
    );
  }
});

test('a server that does not resume ends the speech, after all that had come', async () => {
  const { world, server, speaker, speak, of } = surroundings();
  Object.assign(server, { paceMs: 10, frames: 200 });
  speak();
  await world.pass(1);
  server.close(server.last, 1006);
  await world.pass(0.1);
  assert.equal(of('error').length, 0);
  await world.pass(3);
  const [{ detail }] = of('error');
  assert.deepEqual([detail.code, detail.scope], ['resume_lost', 'stream']);
  assert.ok(speaker.sound.length > 0.85 * 48_000, 'what had come is heard');
  assert.equal(detail.report.complete, false);
});

test('a speech that has come whole needs no connection', async () => {
  const { world, server, speak, of } = surroundings();
  speak();
  await world.pass(0.3);
  server.close(server.last, 1006);
  await world.pass(3);
  assert.equal(of('end')[0].detail.report.complete, true);
  assert.equal(server.connections.length, 1);
});

test('an idle connection that is lost is opened again by the next speech', async () => {
  const { world, server, speak, of } = surroundings();
  speak();
  await world.pass(3);
  server.close(server.last, 1001);
  await world.pass(100);
  assert.equal(server.connections.length, 1);
  speak();
  await world.pass(0.1);
  assert.equal(server.connections.length, 2);
  assert.equal(of('reconnecting').length, 0);
});

test('a connection is pinged while nothing is said', async () => {
  const { world, server, speak } = surroundings();
  speak();
  await world.pass(70);
  assert.ok(server.last.open && server.last.heard.filter(({ type }) => type === 'ping').length >= 3);
});

test('the key goes into the subprotocols', async () => {
  const { world, server, speak } = surroundings({ token: 'secret' });
  speak();
  await world.pass(0.1);
  assert.deepEqual(server.last.protocols, ['abr-tts.v1', 'abr-tts.key.secret']);
});

test('a speech that is stopped without a connection is stopped at the next one', async () => {
  const { world, server, speak, receiver, of } = surroundings();
  Object.assign(server, { paceMs: 20, frames: 100, resumes: true });
  const id = speak();
  await world.pass(0.3);
  const { heard } = server.last;
  const { stream_id } = heard.find(({ type }) => type === 'stream_start');
  server.refuses = 1006;
  server.close(server.last, 1006);
  await world.pass(0.2);
  speak({ text: 'Next.' });
  receiver.do({ do: 'stop', id });
  await world.pass(0.1);
  server.refuses = null;
  await world.pass(5);
  const said = server.last.heard.map(({ type }) => type);
  assert.deepEqual(said.slice(0, 4), ['hello', 'attach', 'cancel', 'stream_start']);
  const [, attach, cancel] = server.last.heard;
  assert.deepEqual([attach.stream_id, attach.tracks, cancel.stream], [stream_id, [], stream_id]);
  assert.ok(of('end').at(-1).detail.report.complete);
});
