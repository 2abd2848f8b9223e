import { readFile, writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import SQLite from 'better-sqlite3';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CERTIFICATE_PATH,
  PRESENCE_PATH,
  REPORTS_PATH,
  type ReportAnswer,
  STATUS_PATH,
} from '#bundles/formats/events/hub-api';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { addDays } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { siteReference } from '../../../scheduler/load/releases/references.ts';
import { makeCompany, NOW } from '../../harness/fleets/company.ts';
import { findProgram } from '../../harness/run/find-program.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { chain, FLEET, happenings, reportOf } from '../../scheduler/hub/test-hub.ts';
import {
  type Client,
  connect,
  enroll,
  enrollBody,
  type HubProcess,
  handOver,
  type NetworkAgent,
  networkAgent,
  newToken,
  type Office,
  serve,
  startOffice,
} from './hub-process.ts';

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

const admit = async (agent: NetworkAgent): Promise<string> =>
  enroll(hub.url, office.authority, agent, await newToken(office, agent.site));

const clientOf = (agent: NetworkAgent, cert: string): Client =>
  connect(hub.url, office.authority, { cert, key: agent.pem });

const eventsIn = (path: string, agent: string): readonly number[] => {
  const db = new SQLite(join(path, 'hub.db'), { readonly: true });
  try {
    return db.prepare('select seq from event where agent = ? order by seq').pluck().all(agent) as number[];
  } finally {
    db.close();
  }
};

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('an agent on the network', () => {
  it('enrols with a token, hands over a report, and has its site statement in the layout', async () => {
    const agent = networkAgent('plant-1/press-1');
    const { stdout } = await office.scheduler('tokens', 'create', '--site', 'plant-1');
    const cert = await enroll(hub.url, office.authority, agent, stdout.trim());
    await using client = clientOf(agent, cert);
    const report = await reportOf(agent, chain(agent, happenings(10)));
    const reply = await handOver(client, report);
    expect(reply.status).toBe(200);
    expect((reply.json() as ReportAnswer).receipts).toHaveLength(1);
    expect((await handOver(client, report)).text).toBe(reply.text);
    expect(eventsIn(office.path, agent.id)).toEqual(numbers(10));
    const isLaidOut = async () =>
      findReference(await openLayout(join(office.path, 'layout')), siteReference('plant-1')) !== undefined;
    await expect.poll(isLaidOut).toBe(true);
  });

  it('renews its certificate with the current one', async () => {
    const agent = networkAgent('plant-1/press-2');
    await using client = clientOf(agent, await admit(agent));
    const request = await createCertificateRequest(
      { fleet: FLEET, site: agent.site, agent: agent.name },
      agent.key,
    );
    const { certificate } = (await client.post(CERTIFICATE_PATH, { request })).json() as {
      certificate: string;
    };
    await using next = clientOf(agent, certificate);
    expect((await handOver(next, await reportOf(agent, chain(agent, happenings(1))))).status).toBe(200);
  });

  it('is recognized on a resumed TLS connection', async () => {
    const agent = networkAgent('plant-1/press-3');
    const cert = await admit(agent);
    const open = async (session?: Buffer): Promise<TLSSocket> => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const socket = connectTls(
        { host: '127.0.0.1', port: hub.port, ca: office.authority, cert, key: agent.pem, session },
        resolve,
      );
      socket.once('error', reject);
      await promise;
      return socket;
    };
    const ask = async (socket: TLSSocket): Promise<string> => {
      const { promise, resolve } = Promise.withResolvers<string>();
      socket.once('data', (data) => resolve(data.toString()));
      socket.write(
        `POST ${REPORTS_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
      return promise;
    };
    const first = await open();
    const ticket = Promise.withResolvers<Buffer>();
    first.once('session', ticket.resolve);
    expect(await ask(first)).toContain('"code":"SCHEMA"');
    const session = await ticket.promise;
    first.destroy();
    const second = await open(session);
    expect(second.isSessionReused()).toBe(true);
    expect(await ask(second)).toContain('"code":"SCHEMA"');
    second.destroy();
  });

  it('H3: that is revoked gets nothing more, on the connection it has', async () => {
    const agent = networkAgent('plant-2/press-1');
    await using client = clientOf(agent, await admit(agent));
    const lines = chain(agent, happenings(2));
    expect((await handOver(client, await reportOf(agent, lines, 1, 1))).status).toBe(200);
    await office.scheduler('sites', 'revoke', agent.id, '--reason', 'sold');
    const reply = await handOver(client, await reportOf(agent, lines, 2, 2));
    expect({ status: reply.status, ...(reply.json() as object) }).toMatchObject({
      status: 403,
      code: 'REVOKED',
    });
    expect(eventsIn(office.path, agent.id)).toEqual([1]);
  });
});

it('fifty agents are enrolled at the same time, and each of their events is stored once', async () => {
  const agents = Array.from({ length: 50 }, (_, index) => networkAgent(`fleet-${index % 10}/host-${index}`));
  const tokens: string[] = [];
  for (const { site } of agents) tokens.push(await newToken(office, site));
  const taken = agents.map(async (agent, index) => {
    const cert = await enroll(hub.url, office.authority, agent, tokens[index] ?? '');
    await using client = clientOf(agent, cert);
    const lines = chain(agent, happenings(40));
    const replies = [];
    for (const from of [1, 21])
      replies.push(await handOver(client, await reportOf(agent, lines, from, from + 19)));
    return replies.map(({ status }) => status);
  });
  expect(await Promise.all(taken)).toEqual(agents.map(() => [200, 200]));
  for (const { id } of agents) expect(eventsIn(office.path, id)).toEqual(numbers(40));
  const reader = (await office.scheduler('tokens', 'create', '--reader')).stdout.trim();
  await using client = connect(hub.url, office.authority);
  const status = await client.get(`${STATUS_PATH}?site=fleet-3`, { authorization: `Bearer ${reader}` });
  expect((status.json() as { rows: object[] }).rows).toHaveLength(5);
});

describe('a hub that is stopped', () => {
  it('finishes the current request, accepts no other, and ends with 0', async () => {
    await using own = await startOffice();
    await using running = await own.serve();
    const agent = networkAgent('plant-1/host');
    const body = JSON.stringify(await enrollBody(agent, await newToken(own, agent.site)));
    let answer = '';
    const socket = connectTls({ host: '127.0.0.1', port: running.port, ca: own.authority });
    socket.on('data', (data) => {
      answer += data.toString();
    });
    // With "expect", the hub says when it has the head of the request.
    socket.write(
      `POST /v1/enroll HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 100 /);
    socket.write(body.slice(0, 100));
    const ended = running.stop('SIGTERM');
    await expect.poll(() => running.log.map(({ msg }) => msg)).toContain('stopping');
    socket.write(body.slice(100));
    await expect.poll(() => answer).toMatch(/\r\n\r\nHTTP\/1\.1 200 /);
    expect(await ended).toEqual([0, null]);
    expect(running.log.map(({ msg }) => msg)).toContain('stopping');
  });
});

/** Each waits for a time limit of the hub, so they wait at the same time. */
describe.concurrent('a hub after some seconds', () => {
  it('has recorded when an agent reported "present"', async ({ expect }) => {
    const agent = networkAgent('plant-1/idle');
    await using client = clientOf(agent, await admit(agent));
    expect((await client.post(PRESENCE_PATH, {})).status).toBe(204);
    const heard = async () => {
      const { stdout } = await office.scheduler('status', '--site', 'plant-1', '--json');
      const { rows } = JSON.parse(stdout) as { rows: { agent: string; heardAt: string | null }[] };
      return rows.find((row) => row.agent === agent.name)?.heardAt;
    };
    await expect.poll(heard, { interval: 2_000 }).toMatch(/^20\d\d-/);
  });

  it('H13: strangers that send their head a byte at a time are cut off', async () => {
    const started = Date.now();
    const socket = connectTls({ host: '127.0.0.1', port: hub.port, ca: office.authority });
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.resume();
    const drip = setInterval(() => socket.write('x'), 500);
    socket.write('GET /healthz HTTP/1.1\r\nx-slow: ');
    await closed;
    clearInterval(drip);
    expect(Date.now() - started).toBeLessThan(60_000);
  });

  it('H13: strangers that open a connection and say nothing are cut off before they are believed to be clients', async () => {
    const started = Date.now();
    const socket = connectTcp({ host: '127.0.0.1', port: hub.port });
    socket.on('error', () => {}).resume();
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    expect(Date.now() - started).toBeLessThan(60_000);
  });
});

describe('strangers', () => {
  it('H13: with an older TLS, without TLS, and with garbage get nothing, and the hub goes on', async () => {
    await expect(
      new Promise((resolve, reject) => {
        connectTls(
          { host: '127.0.0.1', port: hub.port, maxVersion: 'TLSv1.2', rejectUnauthorized: false },
          () => resolve('connected'),
        ).once('error', reject);
      }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/PROTOCOL_VERSION/) });
    await using client = connect(hub.url, office.authority);
    expect((await client.get('/healthz')).text).toBe('ok\n');
  });

  it('H13: with a head or a body that is too long are refused', async () => {
    await using client = connect(hub.url, office.authority);
    expect((await client.get('/healthz', { 'x-long': 'x'.repeat(20_000) })).status).toBe(431);
    await using other = connect(hub.url, office.authority);
    const reply = await other.post('/v1/enroll', { token: 'x'.repeat(100_000) });
    expect({ status: reply.status, ...(reply.json() as object) }).toMatchObject({
      status: 413,
      code: 'TOO_LARGE',
    });
  });
});

const openssl = findProgram('openssl') ?? '';
const title = 'openssl, another reader of certificates and speaker of TLS';

describe.skipIf(!openssl)(openssl ? title : `${title} (skipped: openssl is not installed)`, () => {
  const run = (words: readonly string[], input = '') => runCommand([openssl, ...words], { input });

  it('accepts the three certificates by strict rules, each for its purpose only', async () => {
    await using folder = await temporaryDirectory('openssl');
    const agent = networkAgent('plant-9/press-1');
    const files = { ca: join(folder.path, 'ca'), client: join(folder.path, 'client') };
    await writeFile(files.ca, office.authority);
    await writeFile(files.client, await admit(agent));
    const verify = (purpose: string, file: string) =>
      run(['verify', '-x509_strict', '-purpose', purpose, '-CAfile', files.ca, file]);
    expect((await verify('sslclient', files.client)).stdout).toMatch(/: OK$/m);
    expect((await verify('sslserver', files.client)).code).not.toBe(0);
    const words = ['s_client', '-connect', `127.0.0.1:${hub.port}`, '-CAfile', files.ca, '-x509_strict'];
    const { stdout } = await run(
      [...words, '-verify_ip', '127.0.0.1', '-verify_return_error', '-purpose', 'sslserver'],
      'Q\n',
    );
    expect(stdout).toContain('Verify return code: 0 (ok)');
    expect(stdout).toContain('TLSv1.3');
    expect(stdout).toContain('Acceptable client certificate CA names');
  });

  it('sends a request with a client certificate, which the hub accepts', async () => {
    await using folder = await temporaryDirectory('openssl');
    const agent = networkAgent('plant-9/press-2');
    const [cert, key] = [join(folder.path, 'cert'), join(folder.path, 'key')];
    await writeFile(cert, await admit(agent));
    await writeFile(key, agent.pem, { mode: 0o600 });
    const request = `POST ${REPORTS_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`;
    const words = ['s_client', '-quiet', '-connect', `127.0.0.1:${hub.port}`, '-ign_eof'];
    const known = await run([...words, '-cert', cert, '-key', key], request);
    expect(known.stdout).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"SCHEMA"/);
    const stranger = await run(words, request);
    expect(stranger.stdout).toMatch(/^HTTP\/1\.1 401 [\s\S]*"code":"CERTIFICATE_INVALID"/);
  });
});

it('two simultaneous commands lose no change of each other', async () => {
  const agents = ['plant-21/host', 'plant-22/host', 'plant-23/host'].map(networkAgent);
  for (const agent of agents) await admit(agent);
  await Promise.all(agents.map(({ site }) => office.scheduler('sites', 'set', site, 'port=8080')));
  const layout = await openLayout(join(office.path, 'layout'));
  for (const { site } of agents) {
    const manifest = findReference(layout, siteReference(site));
    const file = join(office.path, 'layout', 'blobs', 'sha256', manifest?.digest.slice(7) ?? '');
    expect(await readFile(file, 'utf8')).toContain('"fleet-ferry.version":"2"');
  }
});

it('a hub with a platform builds it, again after a webhook, and counts that in its metrics', async () => {
  await using folder = await temporaryDirectory('hub-loop');
  const company = await makeCompany(folder.path);
  const secret = 'a secret of the platform team';
  await writeFile(join(folder.path, 'secret'), `${secret}\n`);
  const words = ['platform', 'keys', 'images'].flatMap((name) => [`--${name}`, name]);
  const rest = ['--layout', 'releases', '--db', 'hub.db', '--cache', 'cache', '--listen', '127.0.0.1:0'];
  const looks = ['--poll', '1h', '--webhook-secret-file', 'secret'];
  await using running = await serve(folder.path, [...words, ...rest, ...looks, '--now', NOW.toISOString()]);
  const released = () => running.log.filter(({ msg }) => msg === 'built').flatMap((line) => line['released']);
  await expect.poll(released).toContain('prod/factory-host 1');
  const layout = await openLayout(join(folder.path, 'releases'));
  expect(layout.manifests.length).toBeGreaterThan(0);
  // Today is another day for the hub: its certificate may not be good for us yet.
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const ask = async (method: 'GET' | 'POST', path: string, headers: Record<string, string>) => {
    const sent = method === 'POST' ? { body: '{}' } : {};
    const { statusCode, body } = await dispatcher.request({
      origin: running.url,
      path,
      method,
      headers,
      ...sent,
    });
    return { status: statusCode, text: await body.text() };
  };
  const hook = async (token: string): Promise<number> =>
    (await ask('POST', '/v1/hooks', { 'x-gitlab-token': token })).status;
  await company.edit('apps/info-screen/host/index.html', (text) => `${text}<!-- of today -->\n`);
  expect(await hook('a guess of a stranger')).toBe(401);
  expect(await hook(secret)).toBe(202);
  await expect.poll(released).toContain('prod/kiosk 2');
  expect(released()).not.toContain('prod/factory-host 2');
  await using store = await openStore(join(folder.path, 'hub.db'), 'halden');
  const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
  const { token } = await createToken(store, { scope: 'reader' }, terms);
  const metrics = async () =>
    (await ask('GET', '/metrics', { authorization: `Bearer ${token}` })).text.split('\n');
  // An environment is logged as soon as it is built, and the build counts when it has ended.
  await expect.poll(metrics).toContain('fleet_loop_total{what="built"} 2');
  expect(await metrics()).toContain('fleet_hub_requests_total{method="POST",route="/v1/hooks",code="401"} 1');
  await dispatcher.close();
  expect(await running.stop('SIGTERM')).toEqual([0, null]);
  expect(running.log.filter(({ msg }) => msg === 'stopped looking')).toHaveLength(1);
});
