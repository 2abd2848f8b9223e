import { open, readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildDebs } from '../../../bundling/debian/build-debs.ts';
import { bringNode, type NodeBuild } from '../../../bundling/debian/node-build.ts';
import { onePackage } from '../../agent/world.ts';
import { createTestFleet, packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { onArm64 } from '../../harness/parts/qemu-arm64.ts';
import { bundleAgent } from '../../harness/run/bundle-agent.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { startMachine } from './bundled-agent/machine.ts';

const REPOSITORY = resolve(import.meta.dirname, '../../..');

/** e_machine of an ELF header. */
const AARCH64 = 183;

const machineOf = async (path: string): Promise<number> => {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(20), 0, 20, 0);
  expect(buffer.toString('latin1', 0, 4)).toBe('\x7fELF');
  return buffer.readUInt16LE(18);
};

describeWith(['qemuArm64'], 'the Debian packages for arm64', ({ qemuArm64 }) => {
  let folder: TemporaryDirectory;
  let node: NodeBuild;
  const at = (...parts: readonly string[]): string => join(folder.path, ...parts);
  /** What dpkg would install. */
  const agent = (file: string): string => at('fleet-agent/usr/lib/fleet-agent', file);

  beforeAll(async () => {
    folder = await temporaryDirectory('arm64');
    await bundleAgent(at('programs/agent'), 'linux-arm64');
    node = await bringNode(REPOSITORY, 'linux-arm64', at('node'));
    const files = await buildDebs({
      programs: at('programs'),
      out: at('debs'),
      epoch: 1_795_478_400,
      compression: 'none',
      names: ['fleet-agent', 'fleet-node'],
      node,
    });
    for (const file of files)
      await runOrFail(['dpkg-deb', '--extract', file, at(basename(file).split('_')[0] ?? '')]);
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('say arm64, and have the Node and the SQLite add-on of it', async () => {
    const files = await readdir(at('debs'));
    expect(files).toHaveLength(2);
    for (const file of files) {
      expect(file).toMatch(/_arm64\.deb$/);
      const { stdout } = await runOrFail(['dpkg-deb', '--field', at('debs', file), 'Architecture']);
      expect(stdout).toBe('arm64\n');
    }
    expect(await machineOf(agent('node'))).toBe(AARCH64);
    expect(await machineOf(agent('better_sqlite3.node'))).toBe(AARCH64);
    expect(await machineOf(at('fleet-node/usr/lib/fleet-node/node'))).toBe(AARCH64);
  });

  it('bring an agent that enrols by a medium, imports and reports on arm64', async () => {
    const fleet = await createTestFleet();
    await using machine = await startMachine(agent('fleet-agent.mjs'), fleet, [
      ...onArm64(qemuArm64),
      agent('node'),
    ]);
    const run = async (...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await machine.agent(words);
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
      return stdout;
    };
    expect(await run('--version')).toContain(` linux-arm64 node-v${node.version}`);
    expect(await machine.enroll()).toMatchObject({ code: 0, stderr: '' });
    const medium = await machine.medium(1, packTestBundle(fleet, [onePackage('line', 'one')]));
    await run('import', medium);
    expect(await readFile(join(machine.folder, 'opt/line'), 'utf8')).toBe('one');
    const next = await machine.medium(2, packTestBundle(fleet, [onePackage('line', 'two')]));
    await run('import', next);
    expect(await readFile(join(machine.folder, 'opt/line'), 'utf8')).toBe('two');
    expect(await run('status')).toMatch(/^line +\w+ /m);
    const before = await readdir(next, { recursive: true });
    await run('reports', 'export', next);
    const added = (await readdir(next, { recursive: true })).filter((file) => !before.includes(file));
    expect(added.join('\n')).toMatch(/report/);
  });
});
