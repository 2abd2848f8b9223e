import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type SecureContext, createSecureContext } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENROLL_PATH, PRESENCE_PATH, REPORTS_PATH } from '#bundles/formats/events/hub-api';
import { chain, happenings, reportOf } from '../../scheduler/hub/test-hub.ts';
import {
  type Client,
  connect,
  enroll,
  type HubProcess,
  handOver,
  type NetworkAgent,
  networkAgent,
  newToken,
  type Office,
  startOffice,
} from './hub-process.ts';

/** 200 to 215 MB are usual. */
const MOST_MB = 250;
const SLOW = 1_000;
const HOSTILE = 100;
const HOSTILE_KEYS = 10;

let office: Office;
let hub: HubProcess;
beforeAll(async () => {
  office = await startOffice();
  hub = await office.serve();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await office[Symbol.asyncDispose]();
});

type Enrolled = { readonly agent: NetworkAgent; readonly cert: string };

const admit = async (id: string): Promise<Enrolled> => {
  const agent = networkAgent(id);
  return { agent, cert: await enroll(hub.url, office.authority, agent, await newToken(office, agent.site)) };
};

const clientOf = ({ agent, cert }: Enrolled, connections = 1): Client =>
  connect(hub.url, office.authority, { cert, key: agent.pem }, connections);

/** The most memory that the hub has had. */
const peakMb = (): number => {
  const status = readFileSync(`/proc/${hub.child.pid}/status`, 'utf8');
  return Math.round((Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6);
};

const head = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: hub\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

/** What a slow client sends at first, and then byte by byte; undefined: it does not even begin TLS. */
const SLOWNESS: readonly (string | undefined)[] = [
  undefined,
  '',
  'GET /healthz HTTP/1.1\r\nx-slow: ',
  `${head(ENROLL_PATH, 60_000)}{"token":"`,
  `${head('/no-such-path', 65_000)}${'x'.repeat(64_000)}`,
];
/** Every so many of them read no answer. */
const DEAF = 3;
/** Address of clients that do not begin TLS, and connect again as soon as they are closed. */
const ELSEWHERE = '127.0.0.2';
const AGAIN_MS = 2_000;

/** Some at a time, or the hub would not get to accept them before they give up. */
const AT_ONCE = 100;

const startSlow = async (secureContext: SecureContext): Promise<Disposable> => {
  const drips: NodeJS.Timeout[] = [];
  const sockets: Socket[] = [];
  let isOver = false;
  const start = async (words: string | undefined): Promise<void> => {
    const where = { host: '127.0.0.1', port: hub.port };
    const socket =
      words === undefined
        ? connectTcp({ ...where, localAddress: ELSEWHERE })
        : connectTls({ ...where, secureContext });
    sockets.push(socket);
    socket.on('error', () => {});
    if (words === undefined)
      socket.on('close', () => setTimeout(() => isOver || void start(words), AGAIN_MS).unref());
    if (sockets.length % DEAF > 0) socket.resume();
    // The hub may close it meanwhile.
    await Promise.race([
      once(socket, words === undefined ? 'connect' : 'secureConnect'),
      once(socket, 'close'),
    ]).catch(() => {});
    if (words === undefined || words === '') return;
    socket.write(words);
    drips.push(setInterval(() => socket.writable && socket.write('x'), 1_000));
  };
  for (let at = 0; at < SLOW; at += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, one) => start(SLOWNESS[one % SLOWNESS.length])));
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      for (const drip of drips) clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    },
  };
};

const LONG = 8 << 20;
/** Bodies that are as long as they may be, and take as much memory as they can. */
const BODIES: readonly Buffer[] = [
  `{"events":"","statement":{"x":[${'[],'.repeat(LONG / 3 - 50)}0]}}`,
  `{"events":"","statement":{},"x":{${Array.from({ length: 600_000 }, (_, at) => `"k${at}":0`).join(',')}}}`,
  `{"statement":{},"events":"${'\\u20ac'.repeat(LONG / 6 - 50)}"}`,
  `{"statement":{},"events":"${'{}\\n'.repeat(LONG / 4 - 50)}"}`,
].map((text) => Buffer.from(text));
const JUNK = Buffer.from('{"token":"ffe_nothing","request":{}}');

/** Asks once a second until the signal; what it was answered, counted by code. */
const attack = async (client: Client, at: number, signal: AbortSignal, answers: Map<string, number>) => {
  while (!signal.aborted) {
    const isLong = at % 2 === 0;
    const body = (isLong ? BODIES[(at / 2) % BODIES.length] : undefined) ?? JUNK;
    const reply = await client.send(isLong ? REPORTS_PATH : ENROLL_PATH, body).catch(() => undefined);
    const { code } = (reply?.json() ?? { code: 'cut off' }) as { readonly code: string };
    answers.set(code, (answers.get(code) ?? 0) + 1);
    await sleep(1_000);
  }
};

/** Tries of a request. On a busy machine a handshake may take longer than the hub is patient with while it is flooded. */
const TRIES = 10;

/** As an agent does: a request whose connection is cut off is sent again, with growing pauses. */
const asAnAgent = async <T>(send: () => Promise<T>): Promise<T> => {
  for (let tries = 1; tries < TRIES; tries++) {
    try {
      return await send();
    } catch {
      await sleep(tries * 200);
    }
  }
  return await send();
};

describe('a hub under a flood', () => {
  it('F4: serves the others, with memory below 250 MB, when 1,000 are slow and 100 hostile -> TOO_MANY', async () => {
    const healthy = await Promise.all([1, 2, 3].map((at) => admit(`plant-7/press-${at}`)));
    const thieves = await Promise.all(
      Array.from({ length: HOSTILE_KEYS }, (_, at) => admit(`plant-8/stolen-${at}`)),
    );
    using _slow = await startSlow(createSecureContext({ ca: office.authority }));
    const stop = new AbortController();
    const answers = new Map<string, number>();
    const hostile = Array.from({ length: HOSTILE }, (_, at) =>
      clientOf(thieves[at % HOSTILE_KEYS] as Enrolled),
    );
    const attacks = hostile.map((client, at) => attack(client, at, stop.signal, answers));
    const waits: number[] = [];
    for (const { agent, cert } of healthy) {
      await using client = clientOf({ agent, cert });
      const lines = chain(agent, happenings(5));
      for (let from = 1; from <= 2; from++) {
        const started = performance.now();
        const part = await reportOf(agent, lines, from, from);
        const answer = await asAnAgent(() => handOver(client, part));
        expect(answer.status, answer.text).toBe(200);
        expect((await asAnAgent(() => client.post(PRESENCE_PATH, {}))).status).toBe(204);
        waits.push(Math.round(performance.now() - started));
      }
    }
    const refused = () => [...answers.keys()].find((code) => code === 'TOO_MANY');
    await expect.poll(refused, { timeout: 120_000, interval: 500 }).toBe('TOO_MANY');
    stop.abort();
    await Promise.all(attacks);
    for (const client of hostile) await client[Symbol.asyncDispose]();
    expect(peakMb(), JSON.stringify({ waits, answers: [...answers] })).toBeLessThan(MOST_MB);
  });
});
