/** Tickets: a new one for each connection, and no connection without one. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { ticketed, withTicket } from '../../abr_tts/web/static/ticket.js';

/** An application that answers as told, and a transport that notes which addresses are opened. */
async function application(t, answer) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.method);
    const { status = 200, headers = {}, body } = answer(asked.length);
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const opened = [];
  const link = { send: (bytes) => opened.push(bytes), close: (code) => opened.push(code), clogged: false };
  const transport = (url, protocols, told) => {
    opened.push(url);
    told.opened();
    return link;
  };
  return { opened, asked, open: ticketed(transport, `http://127.0.0.1:${server.address().port}/ticket`) };
}

/** Dial; resolves with what is told first. */
function dial(open) {
  return new Promise((resolve) => {
    const told = {
      opened: () => resolve({ link }),
      received: () => {},
      closed: (code, _, error) => resolve({ code, error }),
    };
    const link = open('ws://tts.example/v1/stream', ['abr-tts.v1'], told);
  });
}

test('each connection gets a ticket of its own', async (t) => {
  const { open, opened, asked } = await application(t, (count) => ({ body: { ticket: `t+${count}` } }));
  const { link } = await dial(open);
  link.send('hello');
  await dial(open);
  const address = 'ws://tts.example/v1/stream?ticket=t%2B';
  assert.deepEqual(opened, [`${address}1`, 'hello', `${address}2`]);
  assert.deepEqual(asked, ['POST', 'POST']);
});

test('without a ticket nothing is opened, and it may be tried again', async (t) => {
  const answers = [
    { status: 503, headers: { 'Retry-After': '7' }, body: {} },
    { body: { ticket: 7 } },
    { body: null },
  ];
  const { open, opened } = await application(t, (count) => answers[count - 1]);
  const { code, error } = await dial(open);
  assert.deepEqual([code, error.code, error.retryAfter], [1006, 'connect_failed', 7]);
  for (let again = 0; again < 2; again += 1) assert.equal((await dial(open)).error.retryAfter, null);
  assert.deepEqual(opened, []);
});

test('what is closed before the ticket came is not opened', async (t) => {
  const { open, opened } = await application(t, () => ({ body: { ticket: 'late' } }));
  const never = { opened: assert.fail, received: assert.fail, closed: assert.fail };
  open('ws://tts.example', [], never).close(1000, '');
  await dial(open);
  assert.deepEqual(opened, ['ws://tts.example/v1/stream?ticket=late']);
});

test('an address keeps what it had', () => {
  assert.equal(withTicket('ws://x/?a=1', 'b'), 'ws://x/?a=1&ticket=b');
});
