import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import Create from '../../../../exporter/commands/create.ts';
import Plan from '../../../../exporter/commands/plan.ts';
import { rootAccess } from '../../../harness/hosts/as-root.ts';
import { runCommandClass } from '../../../scheduler/commands/run-command-class.ts';
import { makeKioskWorld, type World } from '../../world.ts';

const NOW = ['--now', '2026-11-21T08:00:00Z'] as const;

const withSticks = async (
  sizes: readonly string[],
  use: (world: World, sticks: readonly string[]) => Promise<void>,
): Promise<void> => {
  await using world = await makeKioskWorld();
  await using mounted = new AsyncDisposableStack();
  const sticks: string[] = [];
  for (const [at, size] of sizes.entries()) {
    const stick = world.path(`stick-${at + 1}`);
    await mkdir(stick);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', stick]).status).toBe(0);
    mounted.defer(() => void spawnSync('umount', [stick]));
    sticks.push(stick);
  }
  await use(world, sticks);
};

const title = 'a stick with too little room';
const canMount = rootAccess() === 'root' && spawnSync('unshare', ['-m', 'true']).status === 0;
if (canMount) describe(title, tests);
else describe.skip(`${title} (a small disk can be mounted by root only)`, tests);

function tests(): void {
  it('is reported for any medium of a set before the first one is written', () =>
    withSticks(['8m', '40k'], async (world, [large = '', small = '']) => {
      const set = ['--part-size', '60000', '--stick-size', '60000', '--to', large, '--to', small];
      const words = ['--from', world.path('layout'), '--channel', 'prod/kiosk', ...set, ...NOW];
      const { code, err } = await runCommandClass(Create, words);
      expect([code, err]).toEqual([
        6,
        expect.stringMatching(/DISK_FULL: \S+stick-2 has [\d.]+ KiB free, [\d.]+ KiB are needed/),
      ]);
      expect(await readdir(large)).toEqual([]);
      expect(await readdir(small)).toEqual([]);
      const planned = await runCommandClass(Plan, words);
      expect(planned.err).toMatch(/Note: \S+stick-2 has [\d.]+ KiB free, [\d.]+ KiB are needed/);
    }));

  it('is reported by plan with the words of create, for a tar and a folder', () =>
    withSticks(['40k'], async (world, [stick = '']) => {
      for (const to of [stick, `${stick}/medium.tar`]) {
        const words = ['--from', world.path('layout'), '--channel', 'prod/kiosk', '--to', to, ...NOW];
        const planned = await runCommandClass(Plan, words);
        const created = await runCommandClass(Create, words);
        const said = /\S+stick-1 has [\d.]+ KiB free, [\d.]+ KiB are needed/;
        expect([planned.code, created.code]).toEqual([0, 6]);
        expect(planned.err).toMatch(said);
        expect(created.err).toMatch(said);
        expect(await readdir(stick)).not.toContain('medium.tar');
      }
    }));

  it('is enough for a set that fits and for its second run; a set that does not fit is refused with its true size', () =>
    withSticks(['400k', '68k'], async (world, [stick = '', full = '']) => {
      const words = [
        '--from',
        world.path('layout'),
        '--channel',
        'prod/kiosk',
        '--part-size',
        '60000',
        ...NOW,
      ];
      const planned = await runCommandClass(Plan, [...words, '--to', stick]);
      expect(planned.err).not.toContain('are needed');
      for (const round of [1, 2])
        expect([round, await runCommandClass(Create, [...words, '--to', stick])]).toMatchObject([
          round,
          { code: 0 },
        ]);
      expect(await readdir(stick)).toContain('fleet');
      // So little that nothing is left beside the reserve.
      for (const command of [Plan, Create]) {
        const { code, err } = await runCommandClass(command, [...words, '--to', full]);
        expect([code, err]).toEqual([
          6,
          expect.stringMatching(/DISK_FULL: \S+stick-2 has [\d.]+ KiB free, [\d.]+ KiB are needed/),
        ]);
      }
      expect(await readdir(full)).toEqual([]);
    }));
}
