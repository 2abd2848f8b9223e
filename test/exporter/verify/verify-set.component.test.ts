import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { type Verification, verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import type { World } from '../world.ts';
import { makeSetWorld } from '../write/set-world.ts';

const verify = async (paths: string | readonly string[], partial = false): Promise<Verification> => {
  await using open = await openMedium(paths);
  return await verifyMedium(open, undefined, NOW, undefined, { partial });
};

const refusals = ({ checks }: Verification) =>
  checks.flatMap(({ what, code, message }) => (code ? [{ what, code, message }] : []));

/** A set of four parts in `set`, as sticks have it. */
const makeSet = async (): Promise<World & { readonly parts: readonly string[] }> => {
  const world = await makeSetWorld();
  await world.exportSet(['set']);
  const parts = (await readdir(world.path('set/fleet/parts'))).filter((name) => name.endsWith('.tar'));
  return { ...world, parts: parts.map((name) => `set/fleet/parts/${name}`) };
};

describe('verifying a set of parts', () => {
  it('checks each part against the list of its medium, and all blobs', async () => {
    await using world = await makeSet();
    const result = await verify(world.path('set'));
    expect(refusals(result)).toEqual([]);
    const said = result.checks.map(({ what }) => what);
    expect(said).toEqual(expect.arrayContaining(['part 1', 'part 2', 'part 3', 'set', 'blobs']));
  });

  it('names the part that is damaged or too short, and no other', async () => {
    await using world = await makeSet();
    const second = world.path(world.parts[1] ?? '');
    const bytes = await readFile(second);
    const changed = Buffer.from(bytes);
    changed.fill('X', 30_000, 30_100);
    await writeFile(second, changed);
    const found = refusals(await verify(world.path('set')));
    expect(found.map(({ what, code }) => [what, code])).toEqual([
      ['part 2', 'DIGEST_MISMATCH'],
      ['blobs', 'DIGEST_MISMATCH'],
    ]);
    for (const { message } of found) expect(message).toContain(`part 2 (${second})`);
    await writeFile(second, bytes);
    await truncate(second, 20_000);
    const cut = refusals(await verify(world.path('set')));
    expect(cut.map(({ what }) => what)).toContain('part 2');
    expect(cut.find(({ what }) => what === 'part 2')?.message).toContain(second);
  });

  it('refuses a set with missing parts, and verifies one part alone on request', async () => {
    await using world = await makeSet();
    await mkdir(world.path('mailed'));
    const [last = ''] = world.parts.slice(-1);
    await cp(world.path(last), world.path('mailed', last.slice(16)));
    const alone = world.path('mailed', last.slice(16));
    expect(refusals(await verify(alone))).toEqual([
      {
        what: 'set',
        code: 'PARTS_MISSING',
        message: expect.stringContaining('parts 1, 2, 3 of 4 are not here'),
      },
    ]);
    const { ok, checks } = await verify(alone, true);
    expect(ok).toBe(true);
    expect(checks.find(({ what }) => what.includes('bundle'))?.message).toContain(
      'on parts that are not here',
    );
  });

  it('accepts all parts in another folder, without their list', async () => {
    await using world = await makeSet();
    await mkdir(world.path('other'));
    for (const part of world.parts) await cp(world.path(part), world.path('other', part.slice(16)));
    await rm(world.path('set'), { recursive: true });
    expect((await verify(world.path('other'))).ok).toBe(true);
  });
});
