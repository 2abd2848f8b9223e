import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readForSetup } from '../../../scheduler/setup/configuration-file.ts';
import { runSetup } from '../../../scheduler/setup/run-setup.ts';
import { TOPICS } from '../../../scheduler/setup/topics.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { type GitServer, startGitServer } from '../../harness/neighbours/git-server.ts';
import { CLIENT, startOidcProvider, type TestProvider } from '../../harness/neighbours/oidc-provider.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { type Office, startOffice } from './hub-process.ts';

const PLATFORM = fileURLToPath(new URL('../../../examples/platform', import.meta.url));
const PROGRAM = programFile('scheduler');

let folder: TemporaryDirectory;
let provider: TestProvider;
let git: GitServer;
let office: Office;
let port: number;
const smtp = new SMTPServer({
  hideSTARTTLS: true,
  allowInsecureAuth: true,
  onAuth: ({ username = '', password }, _session, callback) =>
    password === 'swordfish'
      ? callback(null, { user: username })
      : callback(Object.assign(new Error('wrong password'), { responseCode: 535 })),
  logger: false,
});
smtp.on('error', () => {});

beforeAll(async () => {
  folder = await temporaryDirectory('setup');
  provider = await startOidcProvider(['https://127.0.0.1:8443/v1/sign-in/callback']);
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  await cp(PLATFORM, join(folder.path, 'platform'), { recursive: true });
  await makeGitRepository(join(folder.path, 'served/platform.git'), { main: join(folder.path, 'platform') });
  git = await startGitServer(join(folder.path, 'served'));
  port = await freePort();
}, 60_000);
afterAll(async () => {
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
  await provider[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
beforeEach(async () => {
  office = await startOffice();
  return () => office[Symbol.asyncDispose]();
});

const file = (name = 'fleet-scheduler.yaml'): string => join(office.path, name);
const mail = (): readonly string[] =>
  [
    `mail.server=smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    'mail.from=fleet@halden.example',
    'mail.to=desk@halden.example',
    'mail.userName=fleet',
  ].flatMap((answer) => ['--set', answer]);

// oxlint-disable-next-line no-control-regex
const CURSOR = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** The program at a terminal, whose questions are answered as they come. @returns what the terminal showed */
const atTerminal = async (
  words: readonly string[],
  answers: readonly (readonly [asked: RegExp, answer: string])[],
): Promise<string> => {
  const command = [process.execPath, PROGRAM, 'setup', ...words].map((word) => `'${word}'`).join(' ');
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_')));
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: office.path, env });
  let [shown, from] = ['', 0];
  onTestFinished(() => void child.kill('SIGKILL'));
  const left = [...answers];
  child.stdout.on('data', (chunk: Buffer) => {
    // Without what places the cursor.
    shown = `${shown}${chunk.toString()}`.replaceAll(CURSOR, '');
    const [asked, answer] = left[0] ?? [];
    if (asked === undefined || !asked.test(shown.slice(from))) return;
    from = shown.length;
    left.shift();
    child.stdin.write(`${answer}\r`);
  });
  await once(child, 'close');
  expect(left).toEqual([]);
  return shown;
};

describe('setup', () => {
  it('writes a whole configuration from nothing, which serve --check finds no fault with', async () => {
    await rm(file());
    await writeFile(file('oidc-secret'), `${CLIENT.secret}\n`, { mode: 0o600 });
    await writeFile(file('mail-password'), 'swordfish\n', { mode: 0o600 });
    const answers = [
      `listen=127.0.0.1:${port}`,
      'hostnames=127.0.0.1 localhost',
      'signIn.publicUrl=https://127.0.0.1:8443',
      `signIn.issuer=${provider.issuer}`,
      `signIn.clientId=${CLIENT.id}`,
      'admin=fleet-admins',
      `platform=${git.url}/platform.git#main`,
    ].flatMap((answer) => ['--set', answer]);
    const { stdout } = await office.scheduler(
      'setup',
      'hub',
      'sign-in',
      'mail',
      'forge',
      ...answers,
      ...mail(),
    );
    expect(stdout).toMatch(/^\+platform: http/m);
    expect(stdout).toContain(`wrote ${file()}`);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    const check = JSON.parse((await office.scheduler('serve', '--check', '--json')).stdout) as {
      readonly findings: readonly { readonly name: string; readonly verdict: string }[];
    };
    expect(check.findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
    expect(check.findings.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['sign-in', 'roles', 'receiver mail', 'platform', 'database', 'certificate']),
    );
    expect((await readdir(office.path)).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('leaves the file as it was where a part does not work, and names the part', async () => {
    const before = await readFile(file(), 'utf8');
    await writeFile(file('mail-password'), 'trout\n', { mode: 0o600 });
    const failed = office.scheduler('setup', 'mail', ...mail());
    await expect(failed).rejects.toThrow(/receiver mail +bad +.*fleet-scheduler\.yaml:\d+:\d+: .*535/);
    await expect(failed).rejects.toThrow(/is as it was/);
    expect(await readFile(file(), 'utf8')).toBe(before);
    expect((await readdir(office.path)).toSorted()).toEqual([
      'fleet-scheduler.yaml',
      'keys',
      'mail-password',
    ]);
    // It is a person's decision to write it nevertheless.
    await office.scheduler('setup', 'mail', '--skip-check', ...mail());
    expect(await readFile(file(), 'utf8')).toContain('passwordFile: mail-password');
  });

  it('asks at a terminal, again where it does not work, and shows no secret', async () => {
    await writeFile(file(), `# ours\n${await readFile(file(), 'utf8')}`);
    await chmod(file(), 0o640);
    const address = (smtp.server.address() as AddressInfo).port;
    const shown = await atTerminal(
      ['mail'],
      [
        [/Mail server.*: $/, 'mail.example'],
        [/is not.*Mail server.*: $/s, `smtp://127.0.0.1:${address}`],
        [/sender.*: $/, 'fleet@halden.example'],
        [/recipients.*: $/, 'desk@halden.example, line@halden.example'],
        [/log in with.*: $/, 'fleet'],
        [/File with the password.*: $/, ''],
        [/not shown\): $/, 'trout'],
        [/535.*\[a\]gain.*: $/s, 'a'],
        [/Mail server.*: $/, ''],
        [/sender.*: $/, ''],
        [/recipients.*: $/, ''],
        [/log in with.*: $/, ''],
        [/File with the password.*: $/, ''],
        [/not shown\): $/, 'swordfish'],
        [/Write it\? \[Y\/n\] $/, ''],
      ],
    );
    expect(shown).toContain(`wrote ${file()}`);
    expect(shown).not.toMatch(/trout|swordfish/);
    const text = await readFile(file(), 'utf8');
    expect(text).toMatch(/^# ours\nkeys: keys\n/);
    expect(text).toContain('- line@halden.example');
    expect((await stat(file())).mode & 0o777).toBe(0o640);
    expect(await readFile(file('mail-password'), 'utf8')).toBe('swordfish\n');
    expect((await stat(file('mail-password'))).mode & 0o777).toBe(0o600);
  });

  it('asks what to set up, and writes nothing that was declined', async () => {
    const before = await readFile(file(), 'utf8');
    const shown = await atTerminal(
      [],
      [
        [/files and the address of the hub\? It is set \[y\/N\] $/, ''],
        [/sign-in.*not set \[Y\/n\] $/, 'n'],
        [/by mail\?.*\[Y\/n\] $/, 'n'],
        [/webhook\?.*\[Y\/n\] $/, ''],
        [/forge|platform.*\[Y\/n\] $/, 'n'],
        [/posted to.*: $/, 'http://127.0.0.1:1/hook'],
        [/secret that signs.*: $/, ''],
        [/\[l\]eave it: $/, 'l'],
      ],
    );
    expect(shown).toContain('is as it was');
    expect(await readFile(file(), 'utf8')).toBe(before);
    // The secret that was made for it is gone, too.
    expect((await readdir(office.path)).toSorted()).toEqual(['fleet-scheduler.yaml', 'keys']);
  });

  it('makes secrets of 256 random bits, and uses those that are there', async () => {
    const answer = ['--set', 'webhook.url=https://desk.example/hook', '--skip-check'];
    await office.scheduler('setup', 'webhook', ...answer);
    const secret = await readFile(file('alarm-webhook-secret'), 'utf8');
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect((await stat(file('alarm-webhook-secret'))).mode & 0o777).toBe(0o600);
    await office.scheduler('setup', 'webhook', ...answer);
    expect(await readFile(file('alarm-webhook-secret'), 'utf8')).toBe(secret);
  });

  it.each([
    [['mial'], /nothing to set up that is called "mial"/],
    [['mail', '--set', 'mail.serve=x'], /Did you mean mail\.server\?/],
    [[], /no terminal to ask what to set up/],
    [['mail', '--config', 'nowhere/a.yaml'], /there is no folder .*nowhere/],
    [['mail', '--config', 'link.yaml'], /this file is a link/],
    [['mail', '--config', 'wrong.yaml'], /wrong\.yaml:1:1: CONFIG_INVALID: there is no setting "kyes"/],
  ])('names a mistake of the command line: %j', async (words, message) => {
    await symlink(file(), file('link.yaml'));
    await writeFile(file('wrong.yaml'), 'kyes: keys\n');
    await expect(office.scheduler('setup', ...words)).rejects.toThrow(message);
  });

  it('does not overwrite what somebody else wrote meanwhile', async () => {
    const run = runSetup({
      file: await readForSetup('fleet-scheduler.yaml', office.path),
      given: new Map([['webhook.url', 'https://desk.example/hook']]),
      topics: [TOPICS.webhook],
      all: Object.values(TOPICS),
      person: undefined,
      examine: async () => {
        await writeFile(file(), 'keys: keys\nlayout: layout\ndb: other.db\n');
        return [];
      },
      show: () => {},
    });
    await expect(run).rejects.toMatchObject({ code: 'EDIT_CONFLICT' });
    expect(await readFile(file(), 'utf8')).toContain('other.db');
    expect((await readdir(office.path)).toSorted()).toEqual(['fleet-scheduler.yaml', 'keys']);
  });

  it('leaves the file as it was when it is killed before it is written', async () => {
    const before = await readFile(file(), 'utf8');
    const words = ['setup', 'webhook', '--set', `webhook.url=http://127.0.0.1:${port}/hook`];
    // A receiver that never answers.
    const silent = createServer().listen(port, '127.0.0.1');
    await once(silent, 'listening');
    const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: office.path, stdio: 'ignore' });
    await once(silent, 'connection');
    child.kill('SIGKILL');
    await once(child, 'exit');
    silent.close();
    expect(await readFile(file(), 'utf8')).toBe(before);
    // The next run is not hindered by what the killed one left.
    await office.scheduler(
      'setup',
      'webhook',
      '--skip-check',
      '--set',
      'webhook.url=https://desk.example/hook',
    );
    expect(await readFile(file(), 'utf8')).toContain('https://desk.example/hook');
  });
});
