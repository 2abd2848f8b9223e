import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import { type Office, openOffice } from '../../e2e/office.ts';
import { eventsAtHub } from '../../e2e/reliability/hub-record.ts';
import { makeProcess } from '../../e2e/reliability/process.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { keptProgram } from '../../harness/run/kept-program.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeHostSecrets, writePlainSecrets } from './secrets-walk/author-files.ts';
import { canary, tracesOf, tracesUnder } from './secrets-walk/canaries.ts';
import { type PryingServer, startPryingServer } from './secrets-walk/prying-server.ts';

/** They say everything, as with DEBUG in the environment of each. */
const DEBUGGING = { ...process.env, DEBUG: '*' };
const KEPT = {
  scheduler: keptProgram('fleet-scheduler', 'test/harness/run/scheduler-lines.ts', DEBUGGING),
  exporter: keptProgram('fleet-export', 'test/harness/run/exporter-lines.ts', DEBUGGING),
  agent: keptProgram('fleet-agent', 'test/harness/run/agent-lines.ts', DEBUGGING),
} as const;

/**
 * Every kind of secret on the whole way, from the author to the site and back, with a value that is nowhere else: what any program
 * says, logs, stores or carries is searched for it, plain, encoded and as a digest.
 */
describeWith(['sops'], 'secrets on the whole way', ({ sops }) => {
  const stack = new AsyncDisposableStack();
  const SECRETS = {
    plain: canary('plain'),
    plainLater: canary('plain-later'),
    own: canary('own'),
    ownLater: canary('own-later'),
    set: canary('set'),
    sops: canary('sops'),
    passphrase: canary('passphrase'),
    registry: canary('registry'),
    git: canary('git'),
    webhook: canary('webhook'),
    enrolToken: '',
    readToken: '',
  };
  /** Everything that a program said, with its command line. */
  const said: { readonly by: string; readonly text: string }[] = [];
  let folder = '';
  let office: Office;
  let prying: PryingServer;
  let env: NodeJS.ProcessEnv = {};
  let hub: ChildProcess | undefined;
  let hubUrl = '';
  let hubLog = '';
  let plainFetch = '';
  const at = (...names: readonly string[]): string => join(folder, ...names);

  const run = async (
    name: 'scheduler' | 'exporter' | 'agent',
    words: readonly string[],
    more: NodeJS.ProcessEnv = {},
  ): Promise<Outcome> => {
    const runLine = more['DEBUG'] === '' ? runScheduler : KEPT[name];
    const outcome = await runLine(folder, words, { ...env, ...more });
    const by = `fleet-${name} ${words.join(' ')} (${outcome.code})`;
    said.push({ by, text: `${outcome.stdout}\n${outcome.stderr}` });
    return outcome;
  };
  const expectCode = async (
    name: Parameters<typeof run>[0],
    words: readonly string[],
    codes: readonly number[] = [0],
    more: NodeJS.ProcessEnv = {},
  ): Promise<void> => {
    const { code, stdout, stderr } = await run(name, words, more);
    if (!codes.includes(code)) throw new Error(`${words.join(' ')}: ${code}\n${stdout}\n${stderr}`);
  };
  /** What changes nothing, as it is for people and with --json. */
  const both = async (...[name, words, codes, more]: Parameters<typeof expectCode>): Promise<void> => {
    await Promise.all([words, [...words, '--json']].map((form) => expectCode(name, form, codes, more)));
  };
  const untilLogged = async (line: RegExp): Promise<void> => {
    for (let tries = 0; !line.test(hubLog); tries += 1) {
      if (tries === 2000) throw new Error(`the hub never said ${line}\n${hubLog.slice(-3000)}`);
      await sleep(100);
    }
  };
  const git = (...words: readonly string[]) =>
    runOrFail(['git', '-C', folder, '-c', 'user.name=T', '-c', 'user.email=t@example.com', ...words], {
      env,
    });
  const secretFile = async (name: string, value: string): Promise<string> => {
    await writeFile(at('author', name), value, { mode: 0o600 });
    return at('author', name);
  };

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('walk')).path;
    office = await openOffice(folder);
    prying = stack.use(await startPryingServer());
    for (const name of ['author', 'home', 'root', 'stick', 'docker']) await mkdir(at(name));
    const auth = Buffer.from(`robot:${SECRETS.registry}`).toString('base64');
    await writeFile(at('docker/config.json'), JSON.stringify({ auths: { [prying.host]: { auth } } }));
    const port = await freePort();
    hubUrl = `https://localhost:${port}`;
    env = {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: at('home'),
      DEBUG: '*',
      DOCKER_CONFIG: at('docker'),
      FLEET_KEY_PASSWORD: SECRETS.passphrase,
      FLEET_AGENT_STATE: at('state'),
      FLEET_AGENT_ROOT: at('root'),
      FLEET_AGENT_SERVICES: 'none',
      FLEET_AGENT_HUB: hubUrl,
    };
    await writePlainSecrets(at('apps/order-api'), SECRETS.plain);
    await git('init', '--quiet', '--initial-branch', 'main');
    await git('add', 'platform', 'apps');
    await git('commit', '--quiet', '--message', 'all');
    const webhook = await secretFile('webhook', `${SECRETS.webhook}\n`);
    const words = ['serve', '--listen', `127.0.0.1:${port}`, '--hostname', 'localhost', '--poll', '1h'];
    hub = spawn(
      process.execPath,
      [programFile('scheduler'), ...words, '--webhook-secret-file', webhook, '--images', 'images'],
      {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [hub.stdout, hub.stderr])
      stream?.on('data', (chunk: Buffer) => {
        hubLog += chunk.toString();
      });
    // Environments are built one after the other, and the hub refuses an enrolment in a channel without a release.
    await untilLogged(/"released":\["prod\/.*"msg":"built"/);
  }, 600_000);
  afterAll(async () => {
    if (hub && hub.exitCode === null) {
      hub.kill('SIGKILL');
      await once(hub, 'exit');
    }
    await stack.disposeAsync();
  });

  it('N31: keeps them in no output, log, database, report, medium or rendered description', {
    timeout: 600_000,
  }, async () => {
    await enrolAndSeal();
    await deliver();
    await lookAtChanges();
    await meetRefusals();
    await askTheHub();
    await searchEverything();
  });

  const token = async (...words: readonly string[]): Promise<string> => {
    const made = await runOrFail(
      [process.execPath, programFile('scheduler'), 'tokens', 'create', ...words, '--json'],
      {
        cwd: folder,
        env,
      },
    );
    return (JSON.parse(made.stdout) as { readonly token: string }).token;
  };

  const enrolAndSeal = async (): Promise<void> => {
    SECRETS.enrolToken = await token('--site', 'plant-7');
    SECRETS.readToken = await token('--reader');
    const file = await secretFile('token', `${SECRETS.enrolToken}\n`);
    const words = '--site plant-7 --name press-1 --channel prod/factory-host --token-file'.split(' ');
    const root = ['--root-sha256', office.rootSha256];
    await expectCode('agent', ['enroll', ...words, file, ...root]);
    await expectCode('scheduler', ['tokens', 'list', '--json']);
    await expectCode('scheduler', ['sites', 'set', 'plant-7', 'lineNumber=7']);
    const set = `password=${await secretFile('set', SECRETS.set)}`;
    const seal = ['secrets', 'set', '--site', 'plant-7', '--name', 'label-printer', '--from-file', set];
    await expectCode('scheduler', seal);
    await expectCode('scheduler', [...seal, '--json']);
    await both('scheduler', ['secrets', 'list', '--site', 'plant-7']);
    const listed = await run('scheduler', ['secrets', 'list', '--site', 'plant-7', '--json']);
    const recipient = /age1[0-9a-z]+/.exec(listed.stdout)?.[0] ?? '';
    const plain = await secretFile('printer', SECRETS.sops);
    const form = ['--input-type', 'binary', '--output-type', 'json', '--age', recipient];
    const sealed = await runOrFail([sops, 'encrypt', ...form, plain], { env });
    await writeHostSecrets(at('apps/label-printer'), sealed.stdout, SECRETS.own);
    const password = await secretFile('password', `${SECRETS.passphrase}\n`);
    await expectCode('scheduler', ['keys', 'generate', '--out', 'office.key', '--password-file', password]);
    await both('scheduler', ['keys', 'protect', 'office.key', '--password-file', file], [2, 3, 4]);
  };

  const deliver = async (): Promise<void> => {
    await both('scheduler', ['validate', '--platform', 'platform'], [0, 3, 8]);
    await expectCode('scheduler', ['build', '--images', 'images', '--json']);
    await expectCode('exporter', ['create', '--from', 'releases', '--site', 'plant-7', '--to', 'stick']);
    await both('exporter', ['verify', 'stick']);
    await both('exporter', ['inspect', 'stick']);
    await expectCode('agent', ['import', 'stick', '--json']);
    expect(await readFile(at('root/run/label-printer/password'), 'utf8')).toBe(SECRETS.set);
    expect(await readFile(at('root/run/label-printer/printer'), 'utf8')).toBe(SECRETS.sops);
    await writeFile(at('root/run/label-printer/password'), `${SECRETS.set} and more`);
    await writeFile(at('root/etc/label-printer/token'), `${SECRETS.own} and more`);
    await both('agent', ['diff'], [8]);
    await expectCode('agent', ['run', '--once'], [0, 8]);
    expect(await readFile(at('root/run/label-printer/password'), 'utf8')).toBe(SECRETS.set);
    await expectCode('agent', ['restore-secrets']);
    for (const words of ['status', 'history', 'doctor']) await both('agent', [words], [0, 8]);
    await expectCode('agent', ['reports', 'export', 'stick']);
    await expectCode('scheduler', ['reports', 'import', 'stick', '--json']);
    await keepByDaemon();
  };

  /** The daemon corrects the same secrets, and hands its reports over to the hub itself. */
  const keepByDaemon = async (): Promise<void> => {
    const corrected = (): readonly Event[] =>
      eventsAtHub(folder, 'plant-7/press-1').filter(({ type }) => type === 'corrected');
    const before = corrected().length;
    expect(before).toBeGreaterThan(0);
    await writeFile(at('root/run/label-printer/password'), `${SECRETS.set} and more`);
    await writeFile(at('root/etc/label-printer/token'), `${SECRETS.own} and more`);
    const words = [process.execPath, programFile('agent'), 'run', '--interval', '1s'];
    await using daemon = makeProcess(words, { cwd: folder, env });
    await daemon.start();
    await expect.poll(() => corrected().length, { timeout: 60_000, interval: 200 }).toBeGreaterThan(before);
    expect(await daemon.end('SIGTERM')).toBe(0);
    const atHub = JSON.stringify(eventsAtHub(folder, 'plant-7/press-1'));
    said.push({ by: 'the daemon', text: daemon.log() }, { by: 'its reports at the hub', text: atHub });
  };

  const lookAtChanges = async (): Promise<void> => {
    await writePlainSecrets(at('apps/order-api'), SECRETS.plainLater);
    await writeFile(at('apps/label-printer/host/token'), `${SECRETS.ownLater}\n`);
    await both('scheduler', ['diff', '--platform', 'platform', '--environment', 'prod']);
    await expectCode('scheduler', ['diff', '--platform', 'platform', '--environment', 'prod', '--markdown']);
    await both('scheduler', ['explain', '--platform', 'platform', '--environment', 'prod']);
    await expectCode('scheduler', ['build', '--images', 'images']);
    await both('exporter', ['diff', 'stick', 'releases'], [8]);
    await both('exporter', ['diff', 'stick', '--site', 'plant-7', '--from', 'releases'], [0, 8]);
  };

  /** Mistakes in a Secret, servers that repeat what they were sent, and an address with a password in it. */
  const meetRefusals = async (): Promise<void> => {
    const head = 'apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\n';
    const value = JSON.stringify(SECRETS.plain);
    const mistakes = [
      `data: {code: ${value}}`,
      `data: [${value}]`,
      `stringData: {code: {a: ${value}}}`,
      `type: [${value}]`,
      `data: {code: ${value}`,
      `data: {code: *${SECRETS.plain}}`,
      `data: {code: !${SECRETS.plain} 1}`,
    ].map(
      (body, index) => [at(`apps/order-api/kubernetes/broken-${index}.yaml`), `${head}${body}\n`] as const,
    );
    await Promise.all(mistakes.map(([file, text]) => writeFile(file, text)));
    await expectCode('scheduler', ['validate', '--platform', 'platform', '--json'], [3]);
    await expectCode('scheduler', ['build', '--images', 'images'], [0, 3, 8]);
    await Promise.all(mistakes.map(([file]) => rm(file)));
    const registry = `oci://${prying.host}/fleet`;
    await both('scheduler', ['publish', '--registry', registry], [3, 4, 5, 6]);
    await both(
      'exporter',
      ['create', '--from', registry, '--site', 'plant-7', '--to', 'other'],
      [3, 4, 5, 6],
    );
    await expectCode('agent', ['run', '--once'], [0, 3, 4, 5, 6, 8], { FLEET_AGENT_REGISTRY: registry });
    await expectCode('agent', ['doctor', '--json'], [0, 8], { FLEET_AGENT_REGISTRY: registry });
    const password = encodeURIComponent(SECRETS.git);
    const url = `http://robot:${password}@${prying.host}/team/app.git`;
    await office.edit('platform/base/workloads/order-api.yaml', (text) =>
      text.replace(/repo: .*/, `repo: ${url}`),
    );
    await expectCode('scheduler', ['validate', '--platform', 'platform'], [0, 3, 4, 5, 6, 8]);
    await expectCode('scheduler', ['build', '--images', 'images'], [0, 3, 4, 5, 6, 8]);
    // With DEBUG the command line itself is said.
    await both('scheduler', ['validate', '--platform', url], [2, 3, 4, 5, 6], { DEBUG: '' });
    expect(prying.seen.size).toBeGreaterThan(1);
  };

  const askTheHub = async (): Promise<void> => {
    await both('scheduler', ['status']);
    await both('scheduler', ['sites', 'list']);
    const ca = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const ask = `for (const [path, token] of [['/v1/status', process.argv[1]], ['/metrics', process.argv[1]], ['/v1/status', process.argv[1] + 'x'], ['/', '']]) {
      const answer = await fetch('${hubUrl}' + path, { headers: { authorization: 'Bearer ' + token } });
      console.log(path, answer.status, await answer.text());
    }
    for (const given of ['sha256=' + '0'.repeat(64), process.argv[2]]) {
      const answer = await fetch('${hubUrl}/v1/hooks', { method: 'POST', body: '{}', headers: { 'x-hub-signature-256': given, 'x-gitlab-token': given } });
      console.log(answer.status, await answer.text());
    }`;
    const words = ['--input-type=module', '-e', ask, SECRETS.readToken, SECRETS.webhook];
    const { stdout } = await runCommand([process.execPath, ...words], { env: { ...env, ...ca } });
    plainFetch = stdout;
    expect(plainFetch).toContain('/v1/status 200');
    // The hook makes it read the repository that was named with a password.
    expect(plainFetch).toContain('202');
    await untilLogged(new RegExp(RegExp.escape(prying.host)));
  };

  const searchEverything = async (): Promise<void> => {
    const secrets = Object.values(SECRETS);
    said.push({ by: 'the hub', text: hubLog }, { by: 'the answers of the hub', text: plainFetch });
    expect(said.flatMap(({ by, text }) => tracesOf(by, text, secrets))).toEqual([]);
    expect(said.length).toBeGreaterThan(40);
    expect(said.filter(({ text }) => /\boclif:/.test(text)).length).toBeGreaterThan(40);
    // What an author writes in plain text is where the design has it: in the bundle, and what was applied of it.
    const { plain, plainLater, own, ownLater, git: inUrl, registry, ...never } = SECRETS;
    const written = [plain, plainLater, own, ownLater];
    const found = await tracesUnder(folder, [...Object.values(never), inUrl, registry, ...written]);
    const isMeant = ({ path, trace }: { readonly path: string; readonly trace: string }): boolean =>
      /^(?:author|apps|root|\.git|platform\/base\/workloads\/order-api\.yaml$)/.test(path) ||
      path === 'docker/config.json' ||
      // Tokens are random, and the hub knows them by their digest alone.
      (path.startsWith('hub/hub.db') && /^ff[er]_\S+ as a digest /.test(trace)) ||
      (/blobs\/sha256\/|^(?:cache|home|state\/replaced)\//.test(path) &&
        written.some((value) => trace.includes(value.slice(0, 20))));
    expect(found.filter((one) => !isMeant(one)).map(({ trace }) => trace)).toEqual([]);
    // The search finds what is there.
    expect(found.filter(({ path }) => path.startsWith('root/run/')).length).toBeGreaterThan(1);
    expect(found.filter(({ path }) => path.startsWith('releases/blobs/')).length).toBeGreaterThan(1);
  };
});
