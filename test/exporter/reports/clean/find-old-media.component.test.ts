import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { findOldMedia } from '../../../../exporter/reports/clean/find-old-media.ts';
import { newFleet } from '../../../harness/fleets/signed-fleet.ts';
import { writeSignedLayout } from '../../../harness/fleets/signed-layout.ts';
import { refused } from '../../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../../world.ts';

const old = async (world: World, keep: number, pinned?: boolean) => {
  const { files, notes } = await findOldMedia({
    folder: world.path('archive'),
    keep,
    pinned: pinned ? digestOf(world.fleet.roots[0] ?? '') : undefined,
    open: {},
  });
  return { paths: files.map(({ path }) => path), notes };
};

/** Releases 1 to `count` of prod/kiosk, a tar each. */
const archive = async (world: World, count: number): Promise<void> => {
  await mkdir(world.path('archive'));
  for (let version = 1; version <= count; version += 1) {
    if (version > 1)
      await world.layout.release({ channel: KIOSK, version, bundles: [bundleOf(`text ${version}`)] });
    // Names say nothing.
    await world.export(`archive/${count - version}.tar`, { channels: [KIOSK], sites: ['plant-7'] });
  }
};

describe('findOldMedia', () => {
  it('keeps the newest media of each set of sites and channels, by their content', async () => {
    await using world = await makeKioskWorld();
    await archive(world, 4);
    await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate')] });
    await world.export('archive/gate.tar', { channels: [GATE] });
    expect((await old(world, 2, true)).paths).toEqual(['2.tar', '3.tar']);
    expect((await old(world, 1)).paths).toEqual(['1.tar', '2.tar', '3.tar']);
    expect((await old(world, 9)).paths).toEqual([]);
  });

  it('leaves files alone that are no medium, damaged, or not signed by this fleet', async () => {
    await using world = await makeKioskWorld();
    await archive(world, 2);
    await writeFile(world.path('archive/backup.tar'), Buffer.alloc(2048));
    await writeFile(world.path('archive/holiday.jpg'), 'x');
    await writeFile(world.path('archive/cut.tar'), 'cut short');
    const evil = writeSignedLayout(await newFleet('acme'), world.path('evil'));
    await evil.release({ channel: KIOSK, version: 99, bundles: [bundleOf('evil')] });
    await evil.site({
      site: 'plant-7',
      version: 1,
      agents: [{ name: 'line-1', channel: KIOSK, key: world.agent }],
    });
    await world.export('archive/evil.tar', { from: world.path('evil'), sites: ['plant-7'] });
    const { paths, notes } = await old(world, 1, true);
    expect(paths).toEqual(['1.tar']);
    expect(new Set(notes.map((note) => note.split(' ')[0]))).toEqual(
      new Set(['backup.tar', 'cut.tar', 'evil.tar']),
    );
  });

  it('refuses an archive of two fleets without a root, and a missing archive', async () => {
    await using world = await makeKioskWorld();
    await archive(world, 1);
    const other = writeSignedLayout(await newFleet('other'), world.path('other'));
    await other.release({ channel: KIOSK, version: 1, bundles: [bundleOf('other')] });
    await world.export('archive/other.tar', { from: world.path('other') });
    expect(await refused(old(world, 1))).toBe('WRONG_FLEET');
    expect((await old(world, 1, true)).paths).toEqual([]);
    await world.export('stick');
    expect(
      await refused(findOldMedia({ folder: world.path('nowhere'), keep: 1, pinned: undefined, open: {} })),
    ).toBe('MEDIUM_MISSING');
  });

  it('keeps the medium on which a delta is based', async () => {
    await using world = await makeKioskWorld();
    await archive(world, 1);
    await world.export('base');
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.export('archive/delta.tar', {
      channels: [KIOSK],
      sites: ['plant-7'],
      bases: [world.path('base')],
    });
    const { paths, notes } = await old(world, 1, true);
    expect([paths, notes]).toEqual([[], [expect.stringContaining('0.tar stays: delta.tar is a delta')]]);
    await copyFile(world.path('archive/delta.tar'), world.path('archive/again.tar'));
    expect((await old(world, 1, true)).paths).toEqual(['delta.tar']);
  });
});
