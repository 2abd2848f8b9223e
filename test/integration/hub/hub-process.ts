import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { ENROLL_PATH, type EnrollAnswer, REPORTS_PATH } from '#bundles/formats/events/hub-api';
import type { SignedReport } from '#bundles/trust/reports/report';
import { formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { FLEET, HOSTS, type TestAgent, testAgent } from '../../scheduler/hub/test-hub.ts';

const PROGRAM = programFile('scheduler');
const KILLER = fileURLToPath(new URL('kill-at-step.ts', import.meta.url));

export type LogLine = { readonly msg?: string; readonly [field: string]: unknown };

/** The program as it is started in earnest. */
export type HubProcess = AsyncDisposable & {
  readonly port: number;
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: readonly LogLine[];
  /** @returns exit code and signal */
  readonly stop: (signal: NodeJS.Signals) => Promise<readonly [number | null, NodeJS.Signals | null]>;
};

export type Office = AsyncDisposable & {
  readonly path: string;
  /** PEM: the fleet's authority. */
  readonly authority: string;
  readonly scheduler: (...words: readonly string[]) => Promise<Outcome>;
  readonly serve: (...words: readonly string[]) => Promise<HubProcess>;
  /** The same, killed before a step of ingest, counted from SIGUSR2 on (kill-at-step.ts). */
  readonly serveUntil: (step: number, ...words: readonly string[]) => Promise<HubProcess>;
};

/** A fleet of its own, today. */
export const startOffice = async (): Promise<Office> => {
  const folder = await temporaryDirectory('hub');
  const root = await initDevRoot(join(folder.path, 'keys'), FLEET, new Date());
  await writeFile(join(folder.path, 'fleet-scheduler.yaml'), 'keys: keys\nlayout: layout\ndb: hub.db\n');
  const options = { cwd: folder.path, env: environment() };
  return {
    path: folder.path,
    authority: root.agentCertificates[0] ?? '',
    scheduler: (...words) => runOrFail([process.execPath, PROGRAM, ...words], options),
    serve: (...words) => serve(folder.path, ['--listen', '127.0.0.1:0', ...words]),
    serveUntil: (step, ...words) =>
      serve(folder.path, ['--listen', '127.0.0.1:0', ...words], PROGRAM, {
        node: ['--import', KILLER],
        env: { KILL_AT_STEP: String(step) },
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

/** Without what a person's shell may say about another fleet. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_')));

/** @param program a built one instead of the checkout's */
export const serve = async (
  cwd: string,
  words: readonly string[],
  program = PROGRAM,
  { node = [], env = {} }: { readonly node?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<HubProcess> => {
  const child = spawn(process.execPath, [...node, program, 'serve', ...words], {
    cwd,
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const log: LogLine[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    if (line.msg === 'listening') resolve(Number(line['port']));
  });
  void exited.then(() => reject(new Error(`the hub ended: ${JSON.stringify(log.at(-1))}`)));
  promise.catch(() => {});
  const port = await promise;
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  return {
    port,
    url: `https://127.0.0.1:${port}`,
    child,
    log,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL');
    },
  };
};

/** An agent with its key as PEM, for TLS. */
export type NetworkAgent = TestAgent & { readonly pem: string };

export const networkAgent = (id: string): NetworkAgent => {
  const pem = generatePrivateKey();
  return { ...testAgent(id, loadSigningKey(pem)), pem };
};

export type Client = AsyncDisposable & {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Reply>;
  readonly post: (path: string, body: unknown) => Promise<Reply>;
  /** A body as it is. */
  readonly send: (path: string, body: string | Buffer) => Promise<Reply>;
};

export type Reply = { readonly status: number; readonly text: string; readonly json: () => unknown };

/** As an agent of ours connects: TLS 1.3, the fleet's authority and no other. */
export const connect = (
  url: string,
  ca: string,
  credential: { readonly cert?: string; readonly key?: string } = {},
  connections = 1,
): Client => {
  const dispatcher = new Agent({ connections, connect: { ca, minVersion: 'TLSv1.3', ...credential } });
  const ask = async (options: Parameters<Agent['request']>[0]): Promise<Reply> => {
    const { statusCode, body } = await dispatcher.request({ ...options, origin: url });
    const text = await body.text();
    return { status: statusCode, text, json: () => JSON.parse(text) as unknown };
  };
  const send = (path: string, body: string | Buffer): Promise<Reply> =>
    ask({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body });
  return {
    get: (path, headers = {}) => ask({ method: 'GET', path, headers }),
    post: (path, body) => send(path, JSON.stringify(body)),
    send,
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
};

export const enrollBody = async (agent: TestAgent, token: string) => ({
  token,
  request: {
    fleet: FLEET,
    site: agent.site,
    agent: agent.name,
    channel: HOSTS,
    labels: {},
    request: await createCertificateRequest({ fleet: FLEET, site: agent.site, agent: agent.name }, agent.key),
    at: formatTime(new Date()),
  },
});

/** As `tokens create` does, without the two seconds that the program takes to start. */
export const newToken = async (
  office: Office,
  site: string,
  db = join(office.path, 'hub.db'),
): Promise<string> => {
  await using store = await openStore(db, FLEET);
  const now = new Date();
  const terms = { note: undefined, expires: new Date(now.getTime() + 3_600_000), now };
  return (await createToken(store, { scope: 'enroll', site, replaceKey: false }, terms)).token;
};

/** Enrols over the network. @returns the agent's certificate */
export const enroll = async (url: string, ca: string, agent: TestAgent, token: string): Promise<string> => {
  await using client = connect(url, ca);
  const reply = await client.post(ENROLL_PATH, await enrollBody(agent, token));
  if (reply.status !== 200) throw new Error(reply.text);
  return (reply.json() as EnrollAnswer).certificate;
};

export const handOver = (client: Client, { statement, events }: SignedReport): Promise<Reply> =>
  client.post(REPORTS_PATH, {
    statement: JSON.parse(statement.toString()) as object,
    events: events.toString(),
  });
