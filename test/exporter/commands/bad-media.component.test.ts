import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import Clean from '../../../exporter/commands/clean.ts';
import Diff from '../../../exporter/commands/diff.ts';
import Extract from '../../../exporter/commands/extract.ts';
import Inspect from '../../../exporter/commands/inspect.ts';
import Recheck from '../../../exporter/commands/recheck.ts';
import Reports from '../../../exporter/commands/reports.ts';
import Verify from '../../../exporter/commands/verify.ts';
import { type RawEntry, rawTar } from '../../bundles/formats/archive/raw-tar.ts';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';
import { filesOf } from '../files-of.ts';
import { agentDiary } from '../reports/agent-diary.ts';
import { makeKioskWorld, type World } from '../world.ts';
import { isTried } from '../../harness/run/long.ts';

const NOW = ['--now', '2026-11-21T08:00:00Z'] as const;

/** Every command that reads a medium, with what else it wants; `good` is a medium that nothing is wrong with. */
const commandsFor = (bad: string, good: string, out: string) =>
  [
    [Inspect, [bad]],
    [Verify, [bad]],
    [Diff, [bad, good]],
    [Diff, [good, bad]],
    [Reports, [bad]],
    [Clean, [bad, '--dry-run']],
    [Recheck, [bad, '--root-sha256', 'a'.repeat(64)]],
    [Extract, [bad, '--channel', 'prod/kiosk', '--kind', 'kubernetes', '--to', out]],
  ] as const;

describe('an unusable path given as a medium', () => {
  let world: World;

  beforeAll(async () => {
    world = await makeKioskWorld();
    await world.export('good', { sites: ['plant-7'] });
    await agentDiary('plant-7/line-1', world.agent, 9).report(world.path('good'), 1, 8);
    await world.export('good.tar', { sites: ['plant-7'] });
    const tar = await readFile(world.path('good.tar'));
    const contents = await readFile(world.path('good/fleet/medium.json'));
    await mkdir(world.path('bad/foreign/photos'), { recursive: true });
    await writeFile(world.path('bad/foreign/photos/1.jpg'), 'x');
    await mkdir(world.path('bad/broken/fleet'), { recursive: true });
    await writeFile(world.path('bad/broken/fleet/medium.json'), '{"format":1,');
    await mkdir(world.path('bad/later/fleet'), { recursive: true });
    await writeFile(
      world.path('bad/later/fleet/medium.json'),
      contents.toString().replace('"critical":[]', '"critical":["tomorrow"]'),
    );
    await mkdir(world.path('bad/folder-as-file/fleet/medium.json'), { recursive: true });
    await mkdir(world.path('bad/parts-list/fleet'), { recursive: true });
    await writeFile(world.path('bad/parts-list/fleet/parts.json'), '[]');
    await writeFile(world.path('bad/empty.tar'), '');
    await writeFile(world.path('bad/text.tar'), 'not an archive at all');
    await writeFile(world.path('bad/zeros.tar'), Buffer.alloc(10_240));
    await writeFile(world.path('bad/cut.tar'), tar.subarray(0, tar.byteLength >> 1));
    await writeFile(world.path('bad/longer.tar'), Buffer.concat([tar, Buffer.from('more')]));
    await writeFile(world.path('bad/0123456789abcdef-0001.tar'), tar.subarray(0, 700));
    const table: RawEntry = { name: 'fleet/medium.json', content: contents };
    const blob: RawEntry = { name: `blobs/sha256/${hexOf(digestOf('x'))}`, content: Buffer.from('x') };
    const hostile: Readonly<Record<string, readonly RawEntry[]>> = {
      'leaves.tar': [{ name: '../evil', content: Buffer.from('x') }, table],
      'absolute.tar': [{ name: '/etc/evil', content: Buffer.from('x') }, table],
      'link.tar': [{ name: 'fleet/medium.json', type: '2', linkName: '/etc/passwd' }, table],
      'stranger.tar': [table, blob],
      'twice.tar': [table, table],
      'blobs-first.tar': [blob, table],
    };
    for (const [name, entries] of Object.entries(hostile))
      await writeFile(world.path('bad', name), rawTar(entries));
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  it('ends every command with one error message and is not modified, in content or time', async () => {
    const before = await snapshot(world.path());
    for (const [at, name] of ['nowhere', '/dev/null', ...badNames()].entries()) {
      const path = name.startsWith('/') ? name : world.path('bad', name);
      const commands = commandsFor(path, world.path('good'), world.path('extracted'));
      // All commands open a medium alike: in a usual run each of them meets a third of these.
      for (const [command, words] of commands.filter((_, index) => isTried(at + index))) {
        const { code, err, out } = await runCommandClass(command, [...words, ...NOW]);
        const said = `${command.name} ${name}: ${code} ${err}${out}`;
        expect(code, said).not.toBe(1);
        expect(err.split('\n').length, said).toBeLessThanOrEqual(2);
        if (code !== 0 && code !== 8 && command !== Verify)
          expect(err, said).toMatch(/^fleet-scheduler: (\S+: )?[A-Z_]+: .+/);
      }
    }
    expect(await snapshot(world.path())).toEqual(before);
  });

  it('is not written to by a command that only reads, even if nothing is wrong with it', async () => {
    const before = await snapshot(world.path('good'));
    const good = world.path('good');
    for (const [command, words] of commandsFor(good, good, world.path('extracted')))
      await runCommandClass(command, [...words, ...NOW]);
    expect(await snapshot(world.path('good'))).toEqual(before);
  });
});

const badNames = (): readonly string[] => [
  'foreign',
  'broken',
  'later',
  'folder-as-file',
  'parts-list',
  'empty.tar',
  'text.tar',
  'zeros.tar',
  'cut.tar',
  'longer.tar',
  '0123456789abcdef-0001.tar',
  'leaves.tar',
  'absolute.tar',
  'link.tar',
  'stranger.tar',
  'twice.tar',
  'blobs-first.tar',
];

const snapshot = async (root: string): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const [path, bytes] of filesOf(root))
    found.set(path, `${digestOf(bytes)} ${(await stat(`${root}/${path}`)).mtimeMs}`);
  return found;
};
