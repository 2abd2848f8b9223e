import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examineHub } from '../../../scheduler/hub/examine/examine-hub.ts';
import type { Finding } from '../../../scheduler/hub/examine/finding.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { type ForgeServer, startForge } from '../../harness/neighbours/forge-server.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { type GitServer, startGitServer } from '../../harness/neighbours/git-server.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { FLEET } from '../../scheduler/hub/test-hub.ts';

const PLATFORM = fileURLToPath(new URL('../../../examples/platform', import.meta.url));
/** robot, 'let me in' */
const HTPASSWD = 'robot:$2b$04$jJqnZt79Kw9L5AsLefEGNO0xbv2xK9C/hsJ5ffMv7B5.3n4MQC5Ka\n';

let folder: TemporaryDirectory;
beforeAll(async () => {
  folder = await temporaryDirectory('check-neighbours');
  await initDevRoot(join(folder.path, 'keys'), FLEET, new Date());
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Checks a configuration with these lines. */
const check = async (lines: string, env: NodeJS.ProcessEnv = {}): Promise<readonly Finding[]> => {
  await writeFile(
    join(folder.path, 'fleet-scheduler.yaml'),
    `keys: keys\nlayout: layout\nlisten: 127.0.0.1:0\n${lines}\n`,
    { mode: 0o600 },
  );
  return examineHub(
    {},
    {
      cwd: folder.path,
      env: {
        PATH: process.env['PATH'],
        HOME: folder.path,
        XDG_CACHE_HOME: join(folder.path, 'cache'),
        ...env,
      },
      now: new Date(),
      signal: new AbortController().signal,
    },
  );
};
const named = (findings: readonly Finding[], name: string): Finding | undefined =>
  findings.find((one) => one.name === name);

describeWith(['postgresql'], 'serve --check with PostgreSQL', ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const database = async (url: string): Promise<Finding | undefined> =>
    named(await check(`db: ${JSON.stringify(url)}`), 'database');

  it('takes an empty database, and creates no table in it', async () => {
    const name = await server.create();
    expect(await database(server.url(name))).toMatchObject({
      verdict: 'good',
      message: expect.stringContaining('is empty'),
    });
    expect(await server.run("select * from pg_tables where schemaname = 'public'", name)).toEqual([]);
  });

  it('counts the sites of a database of this fleet, and refuses that of another', async () => {
    const [own, foreign] = [await server.create(), await server.create()];
    await (await openStore(server.url(own), FLEET))[Symbol.asyncDispose]();
    await (await openStore(server.url(foreign), 'globex'))[Symbol.asyncDispose]();
    expect(await database(server.url(own))).toMatchObject({
      verdict: 'good',
      message: expect.stringContaining(`0 sites of fleet ${FLEET}`),
    });
    expect(await database(server.url(foreign))).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('is the database of fleet globex'),
      at: { line: 4 },
    });
  });

  it('names a database that does not exist, and a server that does not answer, without the password', async () => {
    const missing = server.url('nowhere').replace('app@', 'app:swordfish@');
    const finding = await database(missing);
    expect(finding).toMatchObject({ verdict: 'bad', message: expect.stringContaining('nowhere') });
    expect(JSON.stringify(finding)).not.toContain('swordfish');
    const away = `postgres://app:swordfish@127.0.0.1:${await freePort()}/hub`;
    const silent = await database(away);
    expect(silent).toMatchObject({ verdict: 'bad', at: { line: 4 } });
    expect(JSON.stringify(silent)).not.toContain('swordfish');
  });
});

describeWith(['dockerRegistry'], 'serve --check with a registry', ({ dockerRegistry }) => {
  const auth = async (host: string, password: string): Promise<void> => {
    const basic = Buffer.from(`robot:${password}`).toString('base64');
    await writeFile(join(folder.path, 'auth.json'), JSON.stringify({ auths: { [host]: { auth: basic } } }), {
      mode: 0o600,
    });
  };
  const registryOf = async (host: string): Promise<Finding | undefined> =>
    named(
      await check(`db: hub.db\nregistry: oci://${host}/factory\nplainHttp: ['${host}']\nauthFile: auth.json`),
      'registry',
    );

  it('reads an empty registry with its credentials, and writes nothing', async () => {
    await using registry = await startRegistry(dockerRegistry, { htpasswd: HTPASSWD });
    await auth(registry.host, 'let me in');
    expect(await registryOf(registry.host)).toMatchObject({ verdict: 'good' });
    const catalog = await fetch(`${registry.url}/v2/_catalog`, {
      headers: { authorization: `Basic ${Buffer.from('robot:let me in').toString('base64')}` },
    });
    expect(await catalog.json()).toEqual({ repositories: [] });
  });

  it('names wrong credentials, and a registry that does not answer', async () => {
    await using registry = await startRegistry(dockerRegistry, { htpasswd: HTPASSWD });
    await auth(registry.host, 'trout');
    const denied = await registryOf(registry.host);
    expect(denied).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('Check authFile'),
      at: { line: 5 },
    });
    expect(JSON.stringify(denied)).not.toContain('trout');
    expect(await registryOf(`127.0.0.1:${await freePort()}`)).toMatchObject({ verdict: 'bad' });
  });
});

describe('serve --check with a forge', () => {
  let git: GitServer;
  let forge: ForgeServer;
  beforeAll(async () => {
    await cp(PLATFORM, join(folder.path, 'platform'), { recursive: true });
    const served = join(folder.path, 'served');
    await makeGitRepository(join(served, 'org/gitops.git'), { main: join(folder.path, 'platform') });
    git = await startGitServer(served);
    forge = await startForge('gitea', join(served, 'org/gitops.git'));
    await writeFile(join(folder.path, 'token'), 'a-token\n', { mode: 0o600 });
  });
  afterAll(async () => {
    await forge[Symbol.asyncDispose]();
    await git[Symbol.asyncDispose]();
  });

  const lines = (): string =>
    [
      'db: hub.db',
      `platform: ${git.url}/org/gitops.git#main`,
      `forge: gitea=${forge.api}`,
      'commitStatuses:',
      `  forges: [{ host: 127.0.0.1, forge: 'gitea=${forge.api}', tokenFile: token }]`,
    ].join('\n');
  const STATUSES = 'commit statuses at 127.0.0.1';

  it('asks for pull requests with both tokens, and opens and sets nothing', async () => {
    const findings = await check(lines(), { FLEET_FORGE_TOKEN: 'of-the-environment' });
    expect([named(findings, 'forge'), named(findings, STATUSES)]).toMatchObject([
      { verdict: 'good', message: expect.stringContaining('takes the token') },
      { verdict: 'good', message: '127.0.0.1 takes the token' },
    ]);
    expect([...forge.authorizations].toSorted()).toEqual(['token a-token', 'token of-the-environment']);
    expect([forge.writes, forge.pulls, forge.statuses]).toEqual([[], [], []]);
  });

  it('names a token that the forge refuses, at its setting, and shows none', async () => {
    forge.failNext = { status: 401, message: 'token is required' };
    const findings = await check(lines());
    const statuses = named(findings, STATUSES);
    expect(statuses).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('401'),
      at: { line: 8 },
    });
    expect(JSON.stringify(findings)).not.toContain('a-token');
    // Without a token nothing is asked, and nothing needs one.
    expect(named(findings, 'forge')).toMatchObject({
      verdict: 'good',
      message: expect.stringContaining('there is no token'),
    });
  });

  it('needs a token where pull requests are wanted', async () => {
    const findings = await check(
      `${lines()}\ntree: git+${git.url}/org/gitops.git#tree\ntreePullRequest: true`,
    );
    expect(named(findings, 'forge')).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('FLEET_FORGE_TOKEN'),
    });
  });
});
