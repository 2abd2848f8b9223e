import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { CHANGES_PATH, STATUS_PATH } from '#bundles/formats/events/hub-api';
import { STREAM_LIMITS } from '../../../../../scheduler/hub/http/readers/change-stream.ts';
import { testAgent } from '../../test-hub.ts';
import { join, type TestServer, testServer } from '../../serve/test-server.ts';

const listen = async (made: TestServer): Promise<string> => {
  await made.server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(made.server.server.address() as AddressInfo).port}${CHANGES_PATH}`;
};

const openStream = async (url: string, token: string, more: Readonly<Record<string, string>> = {}) => {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${token}`, ...more };
  const answer = await fetch(url, { headers, signal: stop.signal });
  const text = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  /** Reads on until the stream has this. */
  const until = async (word: string): Promise<string> => {
    let all = '';
    while (!all.includes(word)) {
      const read = await text?.read();
      if (read === undefined || read.done) throw new Error(`the stream ended after ${all}`);
      all += read.value;
    }
    return all;
  };
  /** The rest of an answer that ends. */
  const rest = async (): Promise<string> => {
    let all = '';
    for (let read = await text?.read(); read !== undefined && !read.done; read = await text?.read())
      all += read.value;
    return all;
  };
  return { answer, until, rest, stop };
};

test('a stream sends an event after each write, without any content', async () => {
  await using made = await testServer();
  const url = await listen(made);
  const token = await made.reader();
  const one = await openStream(url, token);
  const other = await openStream(url, token);
  expect(one.answer.headers.get('content-type')).toBe('text/event-stream');
  await one.until('retry: ');
  await join(made, testAgent('plant-7/press-1'));
  await Promise.all([one.until('event: changed'), other.until('event: changed')]);
  one.stop.abort();
  other.stop.abort();
});

test('a stream sends an event for a change between an answer and its opening', async () => {
  await using made = await testServer();
  const url = await listen(made);
  const token = await made.reader();
  const headers = { authorization: `Bearer ${token}` };
  const { headers: read } = await fetch(new URL(STATUS_PATH, url), { headers });
  const id = read.get('x-fleet-change') ?? '';
  await join(made, testAgent('plant-7/press-1'));
  const late = await openStream(url, token, { 'last-event-id': id });
  await late.until('event: changed');
  late.stop.abort();
});

test('a stream sends no event for changes that the answer before it has', async () => {
  await using made = await testServer();
  const url = await listen(made);
  const token = await made.reader();
  await join(made, testAgent('plant-7/press-1'));
  const headers = { authorization: `Bearer ${token}` };
  const { headers: read } = await fetch(new URL(STATUS_PATH, url), { headers });
  const id = read.get('x-fleet-change') ?? '';
  const stream = await openStream(url, token, { 'last-event-id': id });
  await join(made, testAgent('plant-7/press-2'));
  const text = await stream.until('event: changed');
  expect(text.split('event: changed')).toHaveLength(2);
  expect(text).not.toContain(`event: changed\nid: ${id}`);
  stream.stop.abort();
});

test('F12: one reader cannot take the streams of the others', async () => {
  await using made = await testServer();
  const url = await listen(made);
  const [greedy, other] = [await made.reader(), await made.reader()];
  const streams = await Promise.all(
    Array.from({ length: STREAM_LIMITS.streams }, () => openStream(url, greedy)),
  );
  const statuses = streams.map(({ answer }) => answer.status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(STREAM_LIMITS.perCaller);
  expect(statuses.filter((status) => status === 503)).toHaveLength(
    STREAM_LIMITS.streams - STREAM_LIMITS.perCaller,
  );
  const refused = streams.find(({ answer }) => answer.status === 503);
  const body: unknown = JSON.parse((await refused?.rest()) ?? '');
  expect(body).toMatchObject({ code: 'BUSY' });
  const served = await openStream(url, other);
  await served.until('retry: ');
  for (const { stop } of [...streams, served]) stop.abort();
});

test('a stream requires a token, and the number of open streams is limited', async () => {
  await using made = await testServer();
  const url = await listen(made);
  expect((await fetch(url)).status).toBe(401);
  const tokens: string[] = [];
  for (let at = 0; at < STREAM_LIMITS.streams; at += STREAM_LIMITS.perCaller)
    tokens.push(await made.reader());
  const token = await made.reader();
  const streams = await Promise.all(
    Array.from({ length: STREAM_LIMITS.streams }, (_, at) =>
      openStream(url, tokens[Math.floor(at / STREAM_LIMITS.perCaller)] ?? ''),
    ),
  );
  const refused = await openStream(url, token);
  expect(refused.answer.status).toBe(503);
  streams[0]?.stop.abort();
  await expect
    .poll(async () => {
      const again = await openStream(url, token);
      again.stop.abort();
      return again.answer.status;
    })
    .toBe(200);
  for (const { stop } of streams) stop.abort();
});

test('a hub that stops closes its streams', async () => {
  const made = await testServer();
  const url = await listen(made);
  const { until } = await openStream(url, await made.reader());
  const closed = once(made.server.server, 'close');
  await made[Symbol.asyncDispose]();
  await closed;
  await expect(until('never')).rejects.toThrow('the stream ended');
});
