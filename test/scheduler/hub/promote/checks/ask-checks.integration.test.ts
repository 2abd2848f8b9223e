import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Digest } from '#bundles/digest';
import { formatTime } from '#bundles/time';
import { readChecks } from '../../../../../scheduler/hub/promote/checks/check-records.ts';
import { signWebhook } from '../../../../../scheduler/hub/webhook/webhook-signature.ts';
import type { GateHub } from '../../../../../scheduler/hub/promote/gate/gate-hub.ts';
import { readDecided } from '../../../../../scheduler/hub/promote/gate/assess.ts';
import {
  type CheckAsker,
  createCheckAsker,
  takeAnswer,
} from '../../../../../scheduler/hub/serve/ask-checks.ts';
import { openStore, type Store } from '../../../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { readConfiguration } from '../../../../../scheduler/settings/configuration.ts';
import { type ChainOffice, NOW, openBuiltOffice } from '../../../release/chain/chain-office.ts';
import { policy } from '../gate/gate-cases.ts';
import { hubDatabaseAt } from '../../test-database.ts';

const SECRET = 'a secret of checks and of no one else';
const LOG = { info: () => {}, warn: () => {}, error: () => {} } as never;
const NEVER = new AbortController().signal;

type Question = { readonly id: string; readonly shared: Digest; readonly callback: string };
type Respond = (question: Question, response: ServerResponse) => void;

let office: ChainOffice;
let store: Store;
let hub: GateHub;
let asker: CheckAsker;
let now: Date;
let asked: { readonly headers: IncomingMessage['headers']; readonly question: Question }[];
let respond: Respond;
let url: string;
let news: number;
let server: ReturnType<typeof createServer>;

const bytesOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

beforeEach(async () => {
  now = NOW;
  news = 0;
  asked = [];
  respond = (_, response) => void response.writeHead(202).end();
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const question = JSON.parse((await bytesOf(request)).toString()) as Question;
    asked.push({ headers: request.headers, question });
    respond(question, response);
  };
  server = createServer((request, response) => void take(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/load-test?key=very-secret`;
  office = await openBuiltOffice();
  await writeFile(join(office.folder, 'secret'), `${SECRET}\n`);
  await writeFile(
    join(office.folder, 'fleet-scheduler.yaml'),
    'keys: keys\nlayout: out\ncheckSecretFile: secret\n',
  );
  store = await openStore(await hubDatabaseAt(join(office.folder, 'hub.db'), 'halden'), 'halden');
  hub = { keys: await openKeyDirectory(join(office.folder, 'keys')), store, layout: office.layout };
  asker = await askerOf();
});

afterEach(async () => {
  await asker[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

const askerOf = async (config = 'fleet-scheduler.yaml'): Promise<CheckAsker> =>
  createCheckAsker({
    configuration: await readConfiguration({ config: join(office.folder, config) }, office.folder),
    env: {},
    store,
    clock: () => now,
    log: LOG,
    random: () => 0,
    onNews: () => {
      news += 1;
    },
  });

const checks = (more = {}) => [{ name: 'load-test', url, timeoutSeconds: 3600, ...more }];

const decide = (more = {}) =>
  readDecided(
    hub,
    { from: 'dev', to: 'qa', policy: policy({ from: 'dev', to: 'qa', checks: checks(more) }) },
    { signal: NEVER },
  );

/** Asks, and waits until the outcome is stored. */
const ask = async (more = {}): Promise<void> => {
  const before = news;
  await asker.ask(hub, await decide(more));
  await vi.waitFor(() => expect(news).toBeGreaterThan(before), { timeout: 20_000, interval: 5 });
};

const state = async (more = {}) => {
  const { candidate } = await decide(more);
  const about = { fleet: 'halden', from: 'dev', to: 'qa', shared: candidate.shared };
  return (await readChecks(store.db, checks(more), about)).get('load-test');
};

const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

const answer = (question: Question, said: object = {}, secret = SECRET) => {
  const body = Buffer.from(
    JSON.stringify({ shared: question.shared, result: 'passed', message: 'p95 80 ms', ...said }),
  );
  const headers = signWebhook(secret, { id: question.id, body, now });
  return { body, headers };
};

type Signed = ReturnType<typeof answer>;

const call = (id: string, { body, headers }: Signed): Promise<void> =>
  takeAnswer({ store, log: LOG, clock: () => now, secretFile: join(office.folder, 'secret') }, id, {
    header: (name) => (headers as Readonly<Record<string, string>>)[name],
    body,
  });

const first = (): Question => {
  const [one] = asked;
  if (!one) throw new Error('nothing was asked');
  return one.question;
};

describe('an external check with a later response', () => {
  it('is requested once, signed, with the candidate and its changes', async () => {
    await ask();
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(1);
    const { candidate } = await decide();
    expect(first()).toMatchObject({
      fleet: 'halden',
      check: 'load-test',
      from: 'dev',
      to: 'qa',
      ...candidate,
      previous: null,
      changed: expect.arrayContaining([expect.objectContaining({ commit: expect.any(String) })]),
      answerBy: '2026-11-23T09:00:00Z',
      callback: `/v1/checks/${first().id}`,
    });
    expect(asked[0]?.headers).toMatchObject({
      'webhook-id': first().id,
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
    expect(await state()).toEqual({ state: 'asked', at: '2026-11-23T08:00:00Z' });
  });

  it('opens its condition by a signed response about this candidate', async () => {
    await ask();
    now = later(600);
    await call(first().id, answer(first()));
    expect(await state()).toEqual({ state: 'passed', at: '2026-11-23T08:10:00Z', message: 'p95 80 ms' });
  });

  it.each<[string, (question: Question) => Signed, string, string]>([
    [
      'another secret',
      (question) => answer(question, {}, 'another secret of the same length'),
      'TOKEN_INVALID',
      'does not match',
    ],
    [
      'another candidate',
      (question) => answer(question, { shared: `sha256:${'0'.repeat(64)}` }),
      'CHECK_REFUSED',
      'is about',
    ],
    ['no candidate', (question) => answer(question, { shared: undefined }), 'CHECK_REFUSED', 'no candidate'],
    [
      'an unknown result',
      (question) => answer(question, { result: 'maybe' }),
      'CHECK_REFUSED',
      'neither passed nor failed',
    ],
    [
      'no JSON',
      (question) => {
        const body = Buffer.from('passed');
        return { body, headers: signWebhook(SECRET, { id: question.id, body, now }) };
      },
      'BAD_JSON',
      'answer',
    ],
    [
      'too many bytes',
      (question) => answer(question, { message: 'x'.repeat(20_000) }),
      'TOO_LARGE',
      'at most',
    ],
  ])('keeps its condition closed for a response with %s', async (_, make, code, why) => {
    await ask();
    await expect(call(first().id, make(first()))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(why),
    });
    expect(await state()).toMatchObject({ state: 'asked' });
  });

  it('counts the response that was signed last, and refuses a repeated older one', async () => {
    await ask();
    const passed = answer(first());
    await call(first().id, passed);
    now = later(60);
    await call(first().id, answer(first(), { result: 'failed', message: 'p95 900 ms' }));
    await expect(call(first().id, passed)).rejects.toMatchObject({ code: 'CHECK_REFUSED' });
    expect(await state()).toMatchObject({ state: 'failed', message: 'p95 900 ms' });
    now = later(60);
    const again = answer(first());
    await call(first().id, again);
    await call(first().id, again);
    expect(await state()).toMatchObject({ state: 'passed' });
  });

  it('refuses a response after its timeout, and one with an unknown id, with the same code', async () => {
    await ask();
    now = later(3601);
    await expect(call(first().id, answer(first()))).rejects.toMatchObject({
      code: 'CHECK_REFUSED',
      message: expect.stringContaining('too late'),
    });
    const other = { ...first(), id: 'check_0' };
    await expect(call(other.id, answer(other))).rejects.toMatchObject({ code: 'CHECK_REFUSED' });
    await expect(call(other.id, answer(other, {}, 'not the secret at all'))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    });
  });

  it('is requested again after its timeout under the same id, and may respond then', async () => {
    await ask();
    now = later(3599);
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(1);
    now = later(1);
    await ask();
    expect(asked).toHaveLength(2);
    expect(asked[1]?.question.id).toBe(first().id);
    expect(await state()).toMatchObject({ state: 'asked', at: formatTime(now) });
    now = later(1800);
    await call(first().id, answer(first()));
    expect(await state()).toMatchObject({ state: 'passed' });
    now = later(7200);
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(2);
  });

  it('is requested again when the clock was ahead and is set back', async () => {
    const right = now;
    now = later(365 * 24 * 3600);
    await ask();
    now = right;
    await ask();
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(2);
    expect(await state()).toMatchObject({ state: 'asked', at: formatTime(right) });
  });

  it('with a short timeout is requested again only after the retry pause', async () => {
    const short = { timeoutSeconds: 1 };
    await ask(short);
    now = later(29);
    await asker.ask(hub, await decide(short));
    expect(asked).toHaveLength(1);
    now = later(1);
    await ask(short);
    expect(asked).toHaveLength(2);
  });

  it('keeps its result when the response arrives before the request was accepted', async () => {
    respond = (question, response) => {
      void call(question.id, answer(question)).then(() => response.writeHead(202).end());
    };
    await ask();
    expect(await state()).toMatchObject({ state: 'passed' });
  });
});

describe('an external check with an immediate response', () => {
  it('opens its condition by a signed response', async () => {
    respond = (question, response) => {
      const { body, headers } = answer(question);
      response.writeHead(200, headers).end(body);
    };
    await ask();
    expect(await state()).toMatchObject({ state: 'passed', message: 'p95 80 ms' });
    now = later(86_400);
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(1);
  });

  it.each<[string, Respond, 'invalid' | 'unreachable', string]>([
    [
      'is not signed',
      (question, response) => void response.end(answer(question).body),
      'invalid',
      'not signed',
    ],
    [
      'has a wrong signature',
      (question, response) => {
        const { body, headers } = answer(question, {}, 'another secret of the same length');
        response.writeHead(200, headers).end(body);
      },
      'invalid',
      'does not match',
    ],
    [
      'echoes the question',
      (question, response) => {
        const body = Buffer.from(JSON.stringify(question));
        response.writeHead(200, signWebhook(SECRET, { id: question.id, body, now })).end(body);
      },
      'invalid',
      'neither passed nor failed',
    ],
    ['is too big', (_, response) => void response.end('x'.repeat(1 << 20)), 'invalid', 'more than'],
    [
      'is a redirect',
      (_, response) => void response.writeHead(307, { location: '/passed' }).end(),
      'invalid',
      'redirect',
    ],
    ['is a refusal', (_, response) => void response.writeHead(403).end(), 'invalid', '403'],
    ['is an error of the server', (_, response) => void response.writeHead(503).end(), 'unreachable', '503'],
    ['breaks off', (_, response) => void response.destroy(), 'unreachable', '127.0.0.1'],
  ])('keeps the gate closed if the response %s, and is requested again', async (_, how, kind, why) => {
    respond = how;
    await ask();
    const found = await state();
    expect(found).toMatchObject({ state: kind, message: expect.stringContaining(why) });
    expect(JSON.stringify(found)).not.toContain('very-secret');
    // Not at once, and then under the same id.
    await asker.ask(hub, await decide());
    expect(asked).toHaveLength(1);
    now = later(31);
    respond = (_question, response) => void response.writeHead(202).end();
    await ask();
    expect(asked.map(({ question }) => question.id)).toEqual([first().id, first().id]);
    expect(await state()).toMatchObject({ state: 'asked', at: '2026-11-23T08:00:31Z' });
  });
});

describe('an external check that cannot be requested', () => {
  it('is unreachable when its server is down', async () => {
    server.close();
    server.closeAllConnections();
    await ask();
    expect(await state()).toMatchObject({
      state: 'unreachable',
      message: expect.stringContaining('127.0.0.1'),
    });
  });

  it('is invalid without TLS', async () => {
    const clear = { url: 'http://checks.example/load-test?key=very-secret' };
    await ask(clear);
    expect(await state(clear)).toMatchObject({
      state: 'invalid',
      message: 'checks.example is not asked: it is without TLS',
    });
  });

  it('is unreachable without a checkSecretFile in the hub', async () => {
    await asker[Symbol.asyncDispose]();
    await writeFile(join(office.folder, 'without.yaml'), 'keys: keys\nlayout: out\n');
    asker = await askerOf('without.yaml');
    await ask();
    expect(asked).toHaveLength(0);
    expect(await state()).toMatchObject({
      state: 'unreachable',
      message: expect.stringContaining('checkSecretFile'),
    });
  });

  it('gets another id for another candidate or timeout', async () => {
    await ask();
    await ask({ timeoutSeconds: 60 });
    office.config('base/level.yaml', 'base-1');
    await office.build();
    expect(await state()).toBeUndefined();
    await ask();
    expect(new Set(asked.map(({ question }) => question.id)).size).toBe(3);
  });
});
