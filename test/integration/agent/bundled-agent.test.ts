import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { createCertifiedFleet, startHubServer } from '../../agent/hub-server.ts';
import { onePackage } from '../../agent/world.ts';
import { copyBuiltAgent } from '../../harness/run/built-programs.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { createTestFleet, packTestBundle, type TestFleet } from '../../harness/fleets/signed-medium.ts';
import { filesLoaded, KUBE_CONFIG, mainOf, startMachine, timesEvaluated } from './bundled-agent/machine.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describe('the agent as one file', () => {
  const stack = new AsyncDisposableStack();
  let program = '';
  let fleet: TestFleet;

  beforeAll(async () => {
    const folder = stack.use(await temporaryDirectory('bundled'));
    program = await copyBuiltAgent(join(folder.path, 'agent'));
    fleet = await createTestFleet();
  });
  afterAll(() => stack.disposeAsync());

  it('is installed as a program with its add-on, component list and licences', async () => {
    expect((await readdir(dirname(program))).toSorted()).toEqual([
      'LICENCES.txt',
      'better_sqlite3.node',
      'cel.cjs',
      'certificates.cjs',
      'fleet-agent',
      'fleet-agent.mjs',
      'keep-compiled.mjs',
      'main.cjs',
      'run-compiled.mjs',
      'sbom.cdx.json',
    ]);
    const typed = await runCommand([join(dirname(program), 'fleet-agent'), '--version']);
    expect(typed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fleet-agent\/\d/), stderr: '' });
    // Of one byte a character in V8, and without a word of where it was made.
    const text = await readFile(mainOf(program), 'latin1');
    expect(text).not.toMatch(/[^\0-\x7f]/);
    // 12 MiB of web things that nobody asked for would come with it.
    expect(text).not.toMatch(/from ?"(node:)?http"/);
    expect(text).not.toContain(process.cwd());
    // The whole text stays in memory: of the schemas only those that the agent reads by.
    expect(text).toContain('urn:fleet-ferry:schema:agent-config');
    expect(text).not.toContain('urn:fleet-ferry:schema:scheduler-config');
    expect(text.length).toBeLessThan(3.1e6);
    for (const file of ['cel.cjs', 'certificates.cjs'])
      expect(await readFile(join(dirname(program), file), 'latin1')).not.toMatch(/[^\0-\x7f]/);
    const licences = await readFile(join(dirname(program), 'LICENCES.txt'), 'utf8');
    expect(licences).toMatch(/^@bufbuild\/cel \d/m);
    // In a comment of a module of @bufbuild/protobuf, which has no file for its licence.
    expect(licences).toContain('Copyright 2008 Google Inc.');
  });

  it('leaves no temporary file of compiled code that it cannot keep on a full disk', async () => {
    await using folder = await temporaryDirectory('cache');
    const start = () =>
      runCommand([join(dirname(program), 'fleet-agent'), '--version'], {
        env: { PATH: process.env['PATH'], XDG_CACHE_HOME: folder.path },
      });
    const kept = async () => {
      const entries = await readdir(folder.path, { recursive: true, withFileTypes: true });
      return entries.filter(({ name }) => name.startsWith('agent-'));
    };
    await start();
    const before = await kept();
    expect(before).toHaveLength(1);
    for (const { parentPath, name } of before) {
      await rm(join(parentPath, name));
      await mkdir(join(parentPath, name));
    }
    expect(await start()).toMatchObject({ code: 0, stderr: '' });
    expect((await kept()).map(({ name }) => name)).toEqual(before.map(({ name }) => name));
  });

  it('keeps the compiled code of one look, which starts each time, and not that of the daemon', async () => {
    await using folder = await temporaryDirectory('cache');
    const keptAfter = async (...words: readonly string[]): Promise<readonly string[]> => {
      const env = { PATH: process.env['PATH'], XDG_CACHE_HOME: folder.path };
      await runCommand([join(dirname(program), 'fleet-agent'), 'run', ...words], { env });
      return (await readdir(folder.path, { recursive: true })).filter((path) => path.includes('agent-'));
    };
    expect(await keptAfter('--help')).toEqual([]);
    expect(await keptAfter('--once', `--state=${join(folder.path, 'state')}`)).toHaveLength(1);
  });

  it('enrols by a medium, imports, corrects and reports without loading the code for Kubernetes, CEL or certificates', async () => {
    await using machine = await startMachine(program, fleet);
    const { folder, agent } = machine;
    expect(await machine.enroll()).toMatchObject({ code: 0, stderr: '' });
    const medium = await machine.medium(1, packTestBundle(fleet, [onePackage('line', 'one')]));
    expect(await agent(['import', medium])).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(join(folder, 'opt/line'), 'utf8')).toBe('one');
    await writeFile(join(folder, 'opt/line'), 'by hand');
    const coverage = join(folder, 'coverage');
    expect(await agent(['run', '--once'], { NODE_V8_COVERAGE: coverage })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await readFile(join(folder, 'opt/line'), 'utf8')).toBe('one');
    expect(await timesEvaluated(program, coverage, KUBE_CONFIG)).toBe(0);
    const loaded = await filesLoaded(coverage);
    expect(loaded).toContain('main.cjs');
    expect(loaded).not.toContain('cel.cjs');
    expect(loaded).not.toContain('certificates.cjs');
    expect(await agent(['status'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^line +\w+ /m) });
    expect(await agent(['reports', 'export', folder])).toMatchObject({ code: 0, stderr: '' });
    expect((await agent(['doctor', '--json'])).stdout).toContain('"findings"');
  });

  it('enrols at a hub once: repeated, it needs neither token nor hub', async () => {
    await using machine = await startMachine(program, fleet);
    const certified = await createCertifiedFleet();
    const hub = await startHubServer(certified, machine.folder);
    const token = join(machine.folder, 'token');
    await writeFile(token, 'token-1\n');
    const root = hexOf(digestOf(certified.roots[0] ?? ''));
    const names = [
      '--site=plant-7',
      '--name=kiosk-1',
      '--channel=prod/factory-host',
      `--root-sha256=${root}`,
    ];
    const enroll = () =>
      machine.agent(['enroll', ...names, `--hub=${hub.url}`, `--token-file=${token}`, '--json']);
    const first = await enroll();
    expect(first).toMatchObject({ code: 0, stderr: '' });
    await hub[Symbol.asyncDispose]();
    await rm(token);
    expect(await enroll()).toEqual(first);
  });
});
