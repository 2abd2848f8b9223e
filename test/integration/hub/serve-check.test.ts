import { once } from 'node:events';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Finding } from '../../../scheduler/hub/examine/finding.ts';
import { examineHub } from '../../../scheduler/hub/examine/examine-hub.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { type GitServer, startGitServer } from '../../harness/neighbours/git-server.ts';
import { CLIENT, startOidcProvider, type TestProvider } from '../../harness/neighbours/oidc-provider.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { FLEET } from '../../scheduler/hub/test-hub.ts';
import { startOffice } from './hub-process.ts';

const PLATFORM = fileURLToPath(new URL('../../../examples/platform', import.meta.url));
const PUBLIC = 'https://hub.example:8443';

type Request = { readonly method: string; readonly authorization: string | undefined; readonly body: string };

let folder: TemporaryDirectory;
let provider: TestProvider;
let git: GitServer;
let port: number;
const [mails, requests, logins]: [string[], Request[], string[]] = [[], [], []];
/** Status of the receiver of webhooks. */
let status = 405;
const smtp = new SMTPServer({
  hideSTARTTLS: true,
  allowInsecureAuth: true,
  onAuth: ({ username = '', password }, _session, callback) => {
    logins.push(username);
    if (password === 'swordfish') callback(null, { user: username });
    else callback(Object.assign(new Error('wrong password'), { responseCode: 535 }));
  },
  onData: (stream, session, callback) => {
    stream.resume();
    stream.on('end', () => {
      mails.push(...session.envelope.rcptTo.map(({ address }) => address));
      callback(null, 'kept');
    });
  },
  logger: false,
});
smtp.on('error', () => {});
const http = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    const { method = '', headers, url } = request;
    requests.push({ method, authorization: headers.authorization, body });
    response.writeHead(url === '/api/v2/status' ? 200 : status).end('{}');
  });
});

beforeAll(async () => {
  folder = await temporaryDirectory('serve-check');
  provider = await startOidcProvider([`${PUBLIC}/v1/sign-in/callback`]);
  smtp.listen(0, '127.0.0.1');
  http.listen(0, '127.0.0.1');
  await Promise.all([once(smtp.server, 'listening'), once(http, 'listening')]);
  await cp(PLATFORM, join(folder.path, 'platform'), { recursive: true });
  await makeGitRepository(join(folder.path, 'served/platform.git'), { main: join(folder.path, 'platform') });
  git = await startGitServer(join(folder.path, 'served'));
  port = await freePort();
  await initDevRoot(join(folder.path, 'keys'), FLEET, new Date());
  for (const [name, text] of [
    ['client', CLIENT.secret],
    ['password', 'swordfish'],
    ['secret', 'a secret of sixteen letters'],
    ['token', 'a-token'],
  ])
    await writeFile(join(folder.path, name ?? ''), `${text}\n`, { mode: 0o600 });
}, 60_000);
afterAll(async () => {
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
  http.closeAllConnections();
  http.close();
  await provider[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const list of [mails, requests, logins]) list.length = 0;
  status = 405;
  provider.isDown = false;
});

const address = (server: { address: () => unknown }): number => (server.address() as AddressInfo).port;

/** A whole configuration, with texts in it replaced. */
const write = async (...changes: readonly (readonly [from: string, to: string])[]): Promise<void> => {
  const text = `# The hub of the plant
keys: keys
layout: layout
db: hub.db
listen: 127.0.0.1:${port}
hostnames: [hub.example]
platform: ${git.url}/platform.git#main
webhookSecretFile: secret
signIn:
  publicUrl: ${PUBLIC}
  issuer: ${provider.issuer}
  clientId: ${CLIENT.id}
  clientSecretFile: client
roles:
  - { role: admin, groups: [fleet-admins] }
  - role: viewer
    people: [mara@example.com]
alarms:
  receivers:
    - name: desk
      email:
        server: smtp://127.0.0.1:${address(smtp.server)}
        from: fleet@halden.example
        to: [desk@halden.example]
        userName: fleet
        passwordFile: password
    - name: hook
      webhook: { url: 'http://127.0.0.1:${address(http)}/hook', secretFile: secret }
    - name: alertmanager
      alertmanager: { url: 'http://127.0.0.1:${address(http)}', tokenFile: token }
`;
  const changed = changes.reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`the configuration has no ${from}`);
    return all.replace(from, to);
  }, text);
  await writeFile(join(folder.path, 'fleet-scheduler.yaml'), changed, { mode: 0o600 });
};

const check = (sendTo?: string): Promise<readonly Finding[]> =>
  examineHub(
    {},
    {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], HOME: folder.path, XDG_CACHE_HOME: join(folder.path, 'cache') },
      now: new Date(),
      signal: new AbortController().signal,
      sendTo,
    },
  );

const named = (findings: readonly Finding[], name: string): Finding | undefined =>
  findings.find((one) => one.name === name);

const lineOf = async (text: string): Promise<number> => {
  const lines = (await readFile(join(folder.path, 'fleet-scheduler.yaml'), 'utf8')).split('\n');
  return lines.findIndex((line) => line.includes(text)) + 1;
};

describe('serve --check', () => {
  it('tries each part of a configuration, writes nothing, and sends no mail and no event', async () => {
    await write();
    const before = await readdir(folder.path);
    const findings = await check();
    expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
    expect(findings.map(({ name }) => name)).toEqual([
      'configuration',
      'keys',
      'layout',
      'database',
      'address',
      'certificate',
      'secret of webhooks',
      'platform',
      'forge',
      'sign-in',
      'roles',
      'receiver desk',
      'receiver hook',
      'receiver alertmanager',
    ]);
    expect(named(findings, 'sign-in')?.message).toContain(`${PUBLIC}/v1/sign-in/callback`);
    expect(named(findings, 'platform')?.message).toContain('is a platform in our form');
    expect(logins).toEqual(['fleet']);
    expect(mails).toEqual([]);
    expect(requests.map(({ method }) => method).toSorted()).toEqual(['GET', 'OPTIONS']);
    expect(requests.find(({ method }) => method === 'GET')?.authorization).toBe('Bearer a-token');
    expect((await readdir(folder.path)).filter((name) => !before.includes(name))).toEqual(['cache']);
  });

  it('sends a test message to the address of --send-to, and to nobody else', async () => {
    await write();
    expect(named(await check('mara@example.com'), 'receiver desk')).toMatchObject({
      verdict: 'good',
      message: expect.stringContaining('took a message for mara@example.com'),
    });
    expect(mails).toEqual(['mara@example.com']);
  });

  it('names every mistake of the file at its line and column, and then tries nothing else', async () => {
    await write(
      ['    people: [mara@example.com]', '    pople: [mara@example.com]'],
      ['hostnames: [hub.example]', 'hostnames: hub.example'],
      ['webhookSecretFile:', 'webhookSecretFiel:'],
    );
    const findings = await check();
    expect(findings.map(({ at, message }) => [at?.line, at?.column, message])).toEqual([
      [await lineOf('hostnames:'), 12, 'hostnames must be array'],
      [
        await lineOf('webhookSecretFiel:'),
        1,
        'there is no setting "webhookSecretFiel"; did you mean webhookSecretFile?',
      ],
      [await lineOf('pople:'), 5, 'roles.1 has no setting "pople"; did you mean people?'],
    ]);
    expect(findings.every(({ name, verdict }) => name === 'configuration' && verdict === 'bad')).toBe(true);
    expect(logins).toEqual([]);
  });

  it.each<
    readonly [what: string, name: string, change: readonly [string, string], at: string, message: string]
  >([
    [
      'a client that the provider does not know',
      'sign-in',
      [`clientId: ${CLIENT.id}`, 'clientId: another'],
      'signIn:',
      'does not know the client another',
    ],
    [
      'the secret of another client',
      'sign-in',
      ['clientSecretFile: client', 'clientSecretFile: password'],
      'signIn:',
      'or its secret is another one',
    ],
    [
      'an issuer that is somebody else',
      'sign-in',
      ['  issuer: http://127.0.0.1', '  issuer: http://localhost'],
      'signIn:',
      'the answer of the provider is not valid',
    ],
    [
      'a missing file of a secret',
      'sign-in',
      ['clientSecretFile: client', 'clientSecretFile: nowhere'],
      'signIn:',
      'there is no such file',
    ],
    [
      'a wrong password of mail',
      'receiver desk',
      ['passwordFile: password', 'passwordFile: secret'],
      'email:',
      '535',
    ],
    [
      'a mail server that is not there',
      'receiver desk',
      ['server: smtp://127.0.0.1:', 'server: smtp://127.0.0.1:1 #'],
      'email:',
      'ECONNREFUSED',
    ],
    [
      'a role without people',
      'roles',
      ['    people: [mara@example.com]\n', ''],
      '  - role: viewer',
      'no person has the role viewer',
    ],
    [
      'a branch that is not there',
      'platform',
      ['platform.git#main', 'platform.git#mian'],
      'platform:',
      'mian',
    ],
    [
      'a repository that is not there',
      'platform',
      ['/platform.git', '/platfrom.git'],
      'platform:',
      'platfrom.git',
    ],
    ['a folder without keys', 'keys', ['keys: keys', 'keys: kyes'], 'keys:', 'holds no trust root'],
    [
      'a short secret of webhooks',
      'secret of webhooks',
      ['webhookSecretFile: secret', 'webhookSecretFile: password'],
      'webhookSecretFile:',
      'has 9 characters',
    ],
    [
      'half a certificate',
      'certificate',
      ['hostnames: [hub.example]', 'tlsCertFile: cert.pem'],
      'tlsCertFile:',
      'must be set together',
    ],
    [
      'a hub under another name',
      'certificate',
      ['hostnames: [hub.example]', 'hostnames: [fleet.example]'],
      'hostnames:',
      'not for hub.example',
    ],
    [
      'an address of another machine',
      'address',
      ['listen: 127.0.0.1', 'listen: 192.0.2.1'],
      'listen:',
      'has no address 192.0.2.1',
    ],
  ])('names %s', async (_, name, change, at, message) => {
    await write(change);
    const finding = named(await check(), name);
    expect(finding).toMatchObject({ verdict: 'bad', message: expect.stringContaining(message) });
    const isInSecret = finding?.at?.file.endsWith('password') === true;
    expect(finding?.at?.line).toBe(isInSecret ? 1 : await lineOf(at));
    expect(JSON.stringify(finding)).not.toMatch(/swordfish|sixteen letters/);
  });

  it.each([
    [401, 'bad'],
    [404, 'bad'],
    [500, 'bad'],
    [200, 'good'],
    [405, 'good'],
  ] as const)('takes a receiver of webhooks that answers %d for %s', async (answer, verdict) => {
    await write();
    status = answer;
    expect(named(await check(), 'receiver hook')).toMatchObject({
      verdict,
      message: expect.stringContaining(`${answer}`),
    });
    expect(requests.every(({ body }) => body === '')).toBe(true);
  });

  it('names a provider that does not answer', async () => {
    await write();
    provider.isDown = true;
    expect(named(await check(), 'sign-in')).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('does not answer'),
    });
  });

  it('knows the database of another fleet, and that of a hub that runs', async () => {
    await using office = await startOffice();
    await using hub = await office.serve();
    await write(['db: hub.db', `db: ${join(office.path, 'hub.db')}`], [`:${port}\n`, `:${hub.port}\n`]);
    const findings = await check();
    expect(named(findings, 'database')).toMatchObject({
      verdict: 'good',
      message: expect.stringContaining('0 sites'),
    });
    expect(named(findings, 'address')).toMatchObject({ verdict: 'warning' });
    const other = join(folder.path, 'other.db');
    await (await openStore(other, 'globex'))[Symbol.asyncDispose]();
    await write(['db: hub.db', 'db: other.db']);
    expect(named(await check(), 'database')).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('is the database of fleet globex'),
    });
  });

  it('is a command with an exit code, and a table with places', async () => {
    await using office = await startOffice();
    const good = await office.scheduler('serve', '--check', '--json');
    expect(JSON.parse(good.stdout)).toMatchObject({
      findings: [{ name: 'configuration', verdict: 'good' }, {}, {}, {}, {}, {}],
    });
    await writeFile(
      join(office.path, 'fleet-scheduler.yaml'),
      'keys: keys\nlayout: layout\ndb: hub.db\nlisten: 8443\n',
    );
    const bad = office.scheduler('serve', '--check');
    await expect(bad).rejects.toThrow(/fleet-scheduler\.yaml:4:9: listen must be string/);
    await expect(bad).rejects.toThrow(/2/);
  });
});
