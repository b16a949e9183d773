/** Which part of a text was heard: the cases that bind the Python client as well. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { HeardText } from '../../abr_tts/web/static/heard.js';
import { Speech } from '../../abr_tts/web/static/speech.js';
import { surroundings } from './world.mjs';

const { cases } = JSON.parse(readFileSync(new URL('./heard.fixture.json', import.meta.url), 'utf8'));

for (const { name, text, marks, end, asked } of cases) {
  test(name, () => {
    const heard = new HeardText();
    const whole = text.join('');
    for (const [pts, begin, stop] of marks) {
      const { from, to } = heard.mark({ pts, begin, end: stop }, whole);
      assert.equal(whole.slice(from, to), [...whole].slice(begin, stop).join(''));
    }
    if (end !== null) heard.end(end);
    assert.deepEqual(
      asked.map(([played, reach]) => heard.at(played, reach, whole)),
      asked.map(([, , , index]) => index),
    );
  });
}

/** A page's speech of `text`, with the receive path behind it. Two clauses of 1.2 s each. */
async function spoken(text, marks) {
  const { world, server, receiver, events, speak } = surroundings();
  server.frames = 120;
  server.marks = marks;
  const id = speak({ text, open: true });
  const speech = new Speech(id, (command) => receiver.do(command), text);
  const seen = [];
  for (const type of ['mark', 'heard', 'end'])
    speech.addEventListener(type, ({ detail }) => seen.push({ type, ...detail }));
  const pass = async (seconds) => {
    await world.pass(seconds);
    for (const event of events.splice(0)) if (event.id === id) speech.hear(event.type, event.detail);
  };
  return { speech, pass, seen };
}

const TEXT = '😀 Hi there you. 𠮷好 is the end.';
const MARKS = [
  [0, 0, 15],
  [57_600, 16, 30],
];

test('marks are told as they sound, as code points and as places in the string', async () => {
  const { pass, seen } = await spoken(TEXT, MARKS);
  await pass(4);
  const marks = seen.filter(({ type }) => type === 'mark');
  assert.deepEqual(
    marks.map(({ begin, end, from, to }) => [begin, end, TEXT.slice(from, to)]),
    [
      [0, 15, '😀 Hi there you.'],
      [16, 30, '𠮷好 is the end.'],
    ],
  );
});

test('a speech that is stopped says what was heard, at once and in its end', async () => {
  const { speech, pass, seen } = await spoken(TEXT, MARKS);
  assert.equal(speech.heard, 0);
  await pass(0.9);
  const told = speech.stop();
  assert.equal(speech.heardText, '😀 Hi there ');
  assert.equal(told, 12);
  await pass(0.5);
  const { report } = seen.find(({ type }) => type === 'end');
  assert.deepEqual([report.reason, report.heard, speech.heard], ['stopped', 12, 12]);
  const steps = seen.filter(({ type }) => type === 'heard').map(({ heard }) => TEXT.slice(0, heard));
  assert.deepEqual(steps, ['😀', '😀 ', '😀 Hi', '😀 Hi ', '😀 Hi there', '😀 Hi there ']);
});

test('a speech that was heard to its end was heard whole', async () => {
  const { speech, pass } = await spoken('Hello. 😀', [[0, 0, 6]]);
  speech.append(' And good bye.');
  speech.end();
  await pass(4);
  assert.equal(speech.heardText, 'Hello. 😀 And good bye.');
  assert.equal((await speech.done).heard, 23);
});
