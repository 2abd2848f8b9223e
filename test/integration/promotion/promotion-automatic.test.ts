import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signWebhook } from '../../../scheduler/hub/webhook/webhook-signature.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { FILES } from '../../scheduler/release/chain/chain-office.ts';
import { type HubProcess, serve } from '../hub/hub-process.ts';

const SECRET = 'a secret of the hub and its checks';
const WAIT = { timeout: 90_000, interval: 50 };

type Question = { readonly id: string; readonly shared: string; readonly callback: string };

let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
const questions: Question[] = [];
/** How the check answers the next question: later, or that the candidate failed. */
let mode: 'later' | 'failed' = 'later';

const loadTest = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const question = JSON.parse(await textOf(request)) as Question;
    questions.push(question);
    if (mode === 'later') return void response.writeHead(202).end();
    const { body, headers } = sign(question, { result: 'failed', message: 'p95 is 900 ms' });
    response.writeHead(200, headers).end(body);
  };
  void answer();
});

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

const sign = ({ id, shared }: Question, said: object, secret = SECRET) => {
  const body = Buffer.from(JSON.stringify({ shared, ...said }));
  return { body, headers: { ...signWebhook(secret, { id, body, now: new Date() }) } };
};

beforeAll(async () => {
  await once(loadTest.listen(0, '127.0.0.1'), 'listening');
  const { port } = loadTest.address() as AddressInfo;
  folder = await temporaryDirectory('promotion-automatic');
  const policy = `spec:
  from: dev
  to: qa
  mode: automatic
  checks: [{ name: load-test, url: "http://127.0.0.1:${port}/", timeout: 1h }]
`;
  await writeFiles(folder.path, {
    ...Object.fromEntries(Object.entries(FILES).map(([file, text]) => [`platform/${file}`, text])),
    'platform/promotion/dev-to-qa.yaml': ours('PromotionPolicy', 'dev-to-qa', policy),
    'check-secret': `${SECRET}\n`,
    'fleet-scheduler.yaml':
      'platform: platform\nkeys: keys\nlayout: releases\ndb: hub.db\ncache: cache\npoll: 1s\ncheckSecretFile: check-secret\n',
  });
  await scheduler('root', 'init', '--dev', '--fleet', 'halden');
});
afterAll(async () => {
  loadTest.closeAllConnections();
  loadTest.close();
  await folder[Symbol.asyncDispose]();
});

const scheduler = async (...words: readonly string[]): Promise<string> =>
  succeed(await runScheduler(folder.path, words)).stdout;

const start = (): Promise<HubProcess> => serve(folder.path, ['--listen', '127.0.0.1:0']);

const call = async ({ url }: HubProcess, question: Question, { body, headers }: ReturnType<typeof sign>) => {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const answer = await dispatcher.request({
    origin: url,
    path: question.callback,
    method: 'POST',
    headers,
    body,
  });
  await answer.body.dump();
  await dispatcher.close();
  return answer.statusCode;
};

const asked = async (count: number): Promise<Question> => {
  await expect.poll(() => questions.length, WAIT).toBeGreaterThanOrEqual(count);
  const question = questions.at(-1);
  if (!question) throw new Error('nothing was asked');
  return question;
};

const outcomes = ({ log }: HubProcess) =>
  log.filter(({ msg }) => msg === 'check asked').map(({ outcome }) => outcome);

const links = async (): Promise<readonly object[]> =>
  (JSON.parse(await scheduler('status', '--json')) as { links: object[] }).links;

const index = (): Promise<string> => readFile(join(folder.path, 'releases', 'index.json'), 'utf8');

const promotions = async (): Promise<unknown> => {
  const { entries } = JSON.parse(await scheduler('audit', 'list', '--json')) as {
    entries: { kind: string }[];
  };
  return entries.filter(({ kind }) => kind === 'promotion');
};

test('a policy promotes once its check has answered, also after a kill of the hub', async () => {
  let question: Question;
  {
    await using hub = await start();
    question = await asked(1);
    await expect.poll(() => outcomes(hub), WAIT).toEqual(['accepted']);
    expect(await call(hub, question, sign(question, { result: 'passed' }, 'the secret of nobody here'))).toBe(
      401,
    );
    expect(await promotions()).toEqual([]);
    expect(await index()).not.toContain('"qa/press:release"');
    expect(await call(hub, question, sign(question, { result: 'passed', message: 'p95 is 80 ms' }))).toBe(
      200,
    );
    await expect.poll(() => hub.log.some(({ msg }) => msg === 'promoted'), WAIT).toBe(true);
    // Before the build that follows from it.
    await hub.stop('SIGKILL');
  }
  await using hub = await start();
  await expect.poll(index, WAIT).toContain('"qa/press:release"');
  expect(await promotions()).toMatchObject([{ predicate: { to: 'qa', mode: 'automatic', person: null } }]);
  expect(questions).toEqual([question]);
  const explained = await scheduler('promote', 'qa', '--explain');
  expect(explained).toContain('promoted');
  expect(explained).toMatch(/check load-test +passed at .*: p95 is 80 ms/);

  // Another candidate is another question, and what the check says holds it.
  mode = 'failed';
  await writeFile(
    join(folder.path, 'platform', 'base', 'level.yaml'),
    `${FILES['base/level.yaml']}# changed\n`,
  );
  expect((await asked(2)).shared).not.toBe(question.shared);
  await expect.poll(() => outcomes(hub), WAIT).toEqual(['failed']);
  await expect.poll(links, WAIT).toContainEqual(
    expect.objectContaining({
      from: 'dev',
      to: 'qa',
      mode: 'automatic',
      state: 'waiting',
      waitsFor: 'check load-test',
      why: expect.stringMatching(/^check load-test: failed at .*: p95 is 900 ms/),
    }),
  );
  expect(await promotions()).toHaveLength(1);
  expect(await hub.stop('SIGTERM')).toEqual([0, null]);
});
