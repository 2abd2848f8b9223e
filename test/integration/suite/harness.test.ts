import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runAirGapped } from '../../harness/fleets/air-gap.ts';
import { compiledFolder } from '../../harness/run/compiled-folder.ts';
import { countResults, formatCounts } from '../../harness/run/count-results.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { readAptSource } from '../../harness/parts/apt-source.ts';
import { findPart, thisMachine } from '../../harness/parts.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { markInUse } from '../../harness/run/mark-in-use.ts';
import { runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

test('compiledFolder removes folders of other days a day after their last use', async () => {
  await using cache = await temporaryDirectory('compiled');
  const now = new Date();
  const folders = () => readdir(join(cache.path, 'compiled'));
  const first = compiledFolder(cache.path, now);
  await writeFile(join(first, 'code'), '');
  compiledFolder(cache.path, new Date(now.getTime() + 80_000_000));
  expect(await folders()).toContain(basename(first));
  const last = compiledFolder(cache.path, new Date(now.getTime() + 200_000_000));
  expect(await folders()).toEqual([basename(last)]);
});

describeWith(['cosign', 'airGap'], 'cosign', ({ cosign }) => {
  test('signs a statement and verifies it without a network', async () => {
    await using work = await temporaryDirectory();
    const subject = { name: 'x', digest: { sha256: 'a'.repeat(64) } };
    const statement = {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [subject],
      predicateType: 'urn:example:v1',
      predicate: {},
    };
    await writeFile(join(work.path, 'statement.json'), JSON.stringify(statement));
    const run = (...words: string[]) =>
      runAirGapped([cosign, ...words], { cwd: work.path, env: { ...process.env, COSIGN_PASSWORD: '' } });
    const offline = ['--signing-config=signing.json', '--trusted-root=root.json'];
    const digest = ['--digest', subject.digest.sha256, '--digestAlg=sha256', '--bundle=bundle.json'];
    const verify = ['verify-blob-attestation', '--key=cosign.pub', '--insecure-ignore-tlog'];

    succeed(await run('generate-key-pair'));
    succeed(await run('signing-config', 'create', '--out=signing.json'));
    succeed(await run('trusted-root', 'create', '--out=root.json'));
    const sign = ['attest-blob', '--key=cosign.key', '--yes', ...offline, '--statement=statement.json'];
    succeed(await run(...sign, '--bundle=bundle.json'));
    succeed(await run(...verify, '--type=urn:example:v1', ...digest));
    expect((await run(...verify, '--type=urn:other:v1', ...digest)).code).not.toBe(0);
  });
});

describeWith(['dockerRegistry', 'skopeo', 'oras'], 'a registry', ({ dockerRegistry, skopeo, oras }) => {
  test('answers, accepts an artifact from oras, serves it to skopeo, and is removed at the end', async () => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'file.txt'), 'hello');
    let url: string;
    {
      await using registry = await startRegistry(dockerRegistry);
      url = `${registry.url}/v2/`;
      expect((await fetch(url)).status).toBe(200);
      const reference = `${registry.host}/fleet/file:1`;
      await runOrFail([oras, 'push', '--plain-http', reference, 'file.txt:text/plain'], { cwd: folder.path });
      const { stdout } = await runOrFail([
        skopeo,
        'inspect',
        '--raw',
        '--tls-verify=false',
        `docker://${reference}`,
      ]);
      expect(JSON.parse(stdout)).toMatchObject({ layers: [{ mediaType: 'text/plain', size: 5 }] });
      expect(await readdir(registry.storage)).toEqual(['docker']);
    }
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

describeWith(['pythonTuf'], 'python-tuf', ({ pythonTuf }) => {
  test('reads TUF metadata', async () => {
    const program = 'from tuf.api.metadata import Root; print(Root(version=3).version)';
    expect((await runOrFail([pythonTuf, '-c', program])).stdout).toBe('3\n');
  });
});

describeWith(['airGap'], 'the air gap', () => {
  test('leaves a command only a working loopback', async () => {
    const program = `
      const server = require('node:http').createServer((_, response) => response.end('here'));
      server.listen(0, '127.0.0.1', async () => {
        const local = await fetch('http://127.0.0.1:' + server.address().port).then((answer) => answer.text());
        const names = Object.keys(require('node:os').networkInterfaces());
        console.log(local, names.join());
        server.close();
      });`;
    const { stdout } = await runAirGapped([process.execPath, '-e', program]);
    expect(stdout).toBe('here lo\n');
  });
});

describe('Git repositories from folders', () => {
  const fill = async (folder: string, files: Record<string, string>): Promise<string> => {
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return folder;
  };

  test('have the same commit ids in any folder', async () => {
    await using work = await temporaryDirectory();
    const main = await fill(join(work.path, 'a'), { 'app.yaml': 'kind: App\n', '.gitignore': '*\n' });
    await chmod(join(main, 'app.yaml'), 0o755);
    const one = await makeGitRepository(join(work.path, 'one.git'), { main });
    const two = await makeGitRepository(join(work.path, 'two.git'), { main });
    expect(one).toEqual(two);
    expect(one['main']).toBe('b41d506343715c7a1f954a39591942f755a80cd9');
  });

  test('can be cloned and pushed to over HTTP', async () => {
    await using work = await temporaryDirectory();
    const folders = {
      main: await fill(join(work.path, 'main'), { 'app.yaml': 'a' }),
      dev: await fill(join(work.path, 'dev'), { 'app.yaml': 'b' }),
    };
    const served = join(work.path, 'srv');
    const repository = join(served, 'app one.git');
    await makeGitRepository(repository, folders);
    await using server = await startGitServer(served);
    const clone = join(work.path, 'clone');
    const git = (...words: string[]) => runOrFail(['git', '-C', clone, ...words]);
    await runOrFail(['git', 'clone', '--quiet', `${server.url}/app%20one.git`, clone]);
    expect(await readFile(join(clone, 'app.yaml'), 'utf8')).toBe('a');
    expect((await git('show', 'origin/dev:app.yaml')).stdout).toBe('b');

    const next = await fill(join(work.path, 'next'), { 'other.yaml': 'c' });
    const commit = await commitFolder(repository, 'main', next, { message: 'Next' });
    await git('pull', '--quiet', '--ff-only');
    expect((await git('log', '--format=%H %an %aI %s', '-1')).stdout.trim()).toBe(
      `${commit} Fleet Ferry 2026-01-01T00:00:00+00:00 Next`,
    );
    expect(existsSync(join(clone, 'app.yaml'))).toBe(false);

    await git('push', '--quiet', 'origin', 'HEAD:refs/heads/new');
    expect((await runOrFail(['git', '-C', repository, 'rev-parse', 'new'])).stdout.trim()).toBe(commit);
    const missing = await runCommand(['git', 'ls-remote', `${server.url}/none.git`]);
    expect(missing.stderr).toContain('not found');
  });
});

describe('a part', () => {
  test('is the path in its variable', () => {
    const machine = thisMachine({ FLEET_COSIGN: process.execPath });
    expect(findPart('cosign', machine)).toEqual({ present: true, path: process.execPath });
  });

  test('is absent with a reason when its variable names no file or the installer found none', () => {
    expect(findPart('cosign', thisMachine({ FLEET_COSIGN: '/nonexistent' }))).toEqual({
      present: false,
      reason: 'FLEET_COSIGN names /nonexistent, which does not exist.',
    });
    const env = { FLEET_CACHE: '/nonexistent', FLEET_COSIGN_ABSENT: 'No mirror.' };
    expect(findPart('cosign', thisMachine(env))).toEqual({ present: false, reason: 'No mirror.' });
    expect(findPart('oras', thisMachine(env))).toEqual({
      present: false,
      reason: 'oras is not installed here; `npm test` installs it.',
    });
  });
});

describe("the machine's Debian mirror", () => {
  const withSources = async (files: Record<string, string>, id = 'debian') => {
    await using etc = await temporaryDirectory();
    await mkdir(join(etc.path, 'apt/sources.list.d'), { recursive: true });
    await writeFile(join(etc.path, 'os-release'), `NAME=x\nID=${id}\n`);
    for (const [name, text] of Object.entries(files)) await writeFile(join(etc.path, 'apt', name), text);
    return readAptSource(etc.path);
  };

  test('is read from deb822 sources with its keyring, except disabled and security sources', async () => {
    const text = [
      '# a comment\nTypes: deb\nEnabled: no\nURIs: http://off.example\nSuites: stable\nComponents: main',
      'Types: deb\nURIs: http://security.example\nSuites: stable-security\nComponents: main',
      'Types: deb deb-src\nURIs: http://mirror.example/debian\nSuites: stable stable-updates\nComponents: main\nSigned-By: /keys.gpg',
    ].join('\n\n');
    expect(await withSources({ 'sources.list.d/debian.sources': text })).toEqual({
      uri: 'http://mirror.example/debian',
      signedBy: '/keys.gpg',
    });
  });

  test('is read from one-line sources', async () => {
    const text =
      '#deb http://off.example x main\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror.example stable main\n';
    expect(await withSources({ 'sources.list': text })).toEqual({
      uri: 'http://mirror.example',
      signedBy: '/k.gpg',
    });
  });

  test('is refused on a distribution other than Debian', async () => {
    const text = 'deb http://mirror.example noble main\n';
    await expect(withSources({ 'sources.list': text }, 'ubuntu')).rejects.toMatchObject({
      code: 'TOOL_MISSING',
    });
  });
});

describe('countResults', () => {
  const file = (status: string, ...tests: string[]) => ({
    name: 'x.test.ts',
    status,
    assertionResults: tests.map((status) => ({
      status,
      ancestorTitles: ['a part (skipped: why)'],
      title: 't',
    })),
  });
  const count = (exitCode: number, ...files: ReturnType<typeof file>[]) =>
    formatCounts(countResults({ testResults: files }, exitCode));

  test('adds up all files', () => {
    expect(count(1, file('passed', 'passed', 'pending'), file('failed', 'failed', 'passed'))).toBe(
      '2 passed, 1 failed, 1 skipped',
    );
  });

  test('names skipped tests', () => {
    const { skippedTitles } = countResults({ testResults: [file('passed', 'pending', 'todo')] }, 0);
    expect([...skippedTitles]).toEqual([['a part (skipped: why)', 2]]);
    const alone = { status: 'pending', ancestorTitles: ['a host'], title: 'boots' };
    const report = { testResults: [{ name: 'x', status: 'passed', assertionResults: [alone] }] };
    expect([...countResults(report, 0).skippedTitles]).toEqual([['a host > boots', 1]]);
  });

  test('counts a failure for a file that did not load, a run that ended badly, and a run without tests or report', () => {
    expect(count(1, file('failed'), file('passed', 'passed'))).toBe('1 passed, 1 failed, 0 skipped');
    expect(count(1, file('passed', 'passed'))).toBe('1 passed, 1 failed, 0 skipped');
    expect(count(0)).toBe('0 passed, 1 failed, 0 skipped');
    expect(formatCounts(countResults(undefined, 0))).toBe('0 passed, 1 failed, 0 skipped');
  });
});

describe('install.sh', () => {
  const project = async (root: string, lock: object): Promise<string> => {
    await mkdir(join(root, 'test/harness'), { recursive: true });
    await mkdir(join(root, 'dep'));
    const script = join(root, 'test/harness/install.sh');
    await copyFile(join(import.meta.dirname, '../../harness/install.sh'), script);
    await writeFile(join(root, 'dep/package.json'), '{ "name": "dep", "version": "1.0.0" }');
    await writeFile(join(root, 'package.json'), '{ "name": "x", "dependencies": { "dep": "file:dep" } }');
    await writeFile(join(root, 'package-lock.json'), JSON.stringify(lock));
    return script;
  };
  const packages = {
    '': { name: 'x', dependencies: { dep: 'file:dep' } },
    dep: { version: '1.0.0' },
    'node_modules/dep': { resolved: 'dep', link: true },
  };

  test('installs once and prints nothing more until the lock file changes', async () => {
    await using root = await temporaryDirectory();
    const script = await project(root.path, { lockfileVersion: 3, requires: true, packages });
    const first = await runCommand(['sh', script]);
    expect(first).toEqual({
      code: 0,
      stdout: 'Installing the packages of package-lock.json (npm ci) ...\n',
      stderr: '',
    });
    expect(existsSync(join(root.path, 'node_modules/dep/package.json'))).toBe(true);
    expect(await runCommand(['sh', script])).toEqual({ code: 0, stdout: '', stderr: '' });
    await writeFile(join(root.path, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    expect((await runCommand(['sh', script])).stdout).toBe(first.stdout);
  });

  test('installs nothing while tests run from the packages, with any lock file', async () => {
    await using root = await temporaryDirectory();
    const script = await project(root.path, { lockfileVersion: 3, requires: true, packages });
    await mkdir(join(root.path, 'node_modules'));
    {
      await using _inUse = await markInUse(root.path);
      const { code, stderr } = await runCommand(['sh', script]);
      expect(code).toBe(1);
      expect(stderr).toBe(
        `package-lock.json asks for other packages than are installed, and tests run from those (process ${process.pid}): run this again when they have ended.\n`,
      );
      expect(existsSync(join(root.path, 'node_modules/dep'))).toBe(false);
    }
    // What a killed run left behind stops nothing.
    const ended = spawnSync('true').pid;
    await writeFile(join(root.path, 'node_modules/.in-use'), `${ended}\n`);
    expect((await runCommand(['sh', script])).code).toBe(0);
    expect(existsSync(join(root.path, 'node_modules/dep'))).toBe(true);
  });

  test("shows npm's error, and does not count as installed", async () => {
    await using root = await temporaryDirectory();
    const script = await project(root.path, { lockfileVersion: 3, packages: { '': {} } });
    const { code, stderr } = await runCommand(['sh', script]);
    expect(code).toBe(1);
    expect(stderr).toContain('npm error');
    expect(stderr).toMatch(/could not be installed; npm's reason stands above\.\n$/);
    expect(existsSync(join(root.path, 'node_modules/.stamp'))).toBe(false);
  });
});
