/**
 * Hears a server with OpenAI's own npm package. Arguments: the folder in which `openai` is installed, the
 * server's base URL, the key, the text. On standard output JSON: what came, sound in base64.
 */

import { createRequire } from 'node:module';

const [folder, baseURL, apiKey, input] = process.argv.slice(2);
const { default: OpenAI } = createRequire(`${folder}/`)('openai');
const client = new OpenAI({ baseURL, apiKey, maxRetries: 3 });
const once = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const wish = (fields) => ({ model: 'tts-1', voice: 'alloy', input, ...fields });
const base64 = (bytes) => Buffer.from(bytes).toString('base64');

/** The body piece by piece, as a page would play it. */
async function streamed(fields) {
  const answer = await client.audio.speech.create(wish(fields));
  const pieces = [];
  for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  return {
    sound: base64(Buffer.concat(pieces)),
    pieces: pieces.length,
    rate: answer.headers.get('x-audio-sample-rate'),
  };
}

/** What an error says. */
async function refused(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    const { name, status, code, param, type } = error;
    return {
      kind: error.constructor.name,
      name,
      status,
      code,
      param,
      type,
      again: error.headers?.get('retry-after') ?? null,
    };
  }
}

const told = {
  pcm: await streamed({ response_format: 'pcm' }),
  wav: await streamed({ response_format: 'wav' }),
  opus: await streamed({ response_format: 'opus' }),
  whole: base64(await (await client.audio.speech.create(wish({ response_format: 'pcm' }))).arrayBuffer()),
  events: await (
    await client.audio.speech.create(wish({ response_format: 'pcm', stream_format: 'sse' }))
  ).text(),
  models: (await client.models.list()).data.map((model) => model.id),
  model: (await client.models.retrieve('tts-1')).id,
  voice: await refused(once.audio.speech.create(wish({ voice: 'nobody', response_format: 'wav' }))),
  speed: await refused(once.audio.speech.create(wish({ speed: 9 }))),
  missing: await refused(once.models.retrieve('none')),
  key: await refused(new OpenAI({ baseURL, apiKey: 'wrong', maxRetries: 0 }).models.list()),
};
// The key has by now asked for all that it may at once.
const many = await Promise.all(
  Array.from({ length: 12 }, () => refused(once.audio.speech.create(wish({ response_format: 'pcm' })))),
);
told.often = many.find((one) => one !== null) ?? null;
told.again = base64(await (await client.audio.speech.create(wish({ response_format: 'pcm' }))).arrayBuffer());
process.stdout.write(JSON.stringify(told));
