import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { type Inspection, inspectMedium } from '../../../../exporter/verify/inspect/inspect-medium.ts';
import { inspectSealed } from '../../../../exporter/verify/inspect/inspect-sealed.ts';
import { openForInspection } from '../../../../exporter/verify/inspect/open-for-inspection.ts';
import { refused } from '../../refused.ts';
import { makeKioskWorld } from '../../world.ts';

const look = async (...paths: readonly string[]): Promise<Inspection> => {
  await using medium = await openForInspection(paths, {});
  return await inspectMedium(medium);
};

describe('openForInspection', () => {
  it('finds in the beginning of a tar what the whole tar has', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium.tar', { sites: ['plant-7'] });
    await using whole = await openMedium(world.path('medium.tar'));
    expect(await look(world.path('medium.tar'))).toEqual(await inspectMedium(whole));
    await using head = await openForInspection([world.path('medium.tar')], {});
    const blobs = async (medium: typeof head) => (await medium.files('blobs')).length;
    expect(await blobs(head)).toBeLessThan(await blobs(whole));
  });

  it('takes sizes from the table of contents: missing and additional blobs change nothing', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium', { sites: ['plant-7'] });
    const before = await look(world.path('medium'));
    expect(before.filled).toMatchObject({ blobs: plan.blobs.length, bytes: plan.carried });
    await writeFile(world.path('medium/blobs/sha256', 'f'.repeat(64)), 'x');
    const documents = new Set<string>(plan.medium.documents.map(({ digest }) => digest));
    for (const { digest } of plan.blobs)
      if (!documents.has(digest)) await rm(world.path('medium/blobs/sha256', digest.slice(7)));
    expect(await look(world.path('medium'))).toEqual(before);
  });

  it('counts the blobs of a medium whose table of contents does not count them', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium', { sites: ['plant-7'] });
    const file = world.path('medium/fleet/medium.json');
    const { carries: _, ...older } = JSON.parse(await readFile(file, 'utf8')) as Record<string, Json>;
    await writeFile(file, canonicalBytes(older));
    expect((await look(world.path('medium'))).filled).toMatchObject({
      blobs: plan.blobs.length,
      bytes: plan.carried,
    });
  });

  it('refuses a tar that was cut off as TRUNCATED', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium.tar');
    await truncate(world.path('medium.tar'), 20_000);
    expect(await refused(look(world.path('medium.tar')))).toBe('TRUNCATED');
  });

  it('returns set, count, sizes and digests of sealed parts', async () => {
    await using world = await makeKioskWorld();
    const set = `sha256:${'ab'.repeat(32)}`;
    const path = `fleet/parts/${'ab'.repeat(8)}-0002.tar.age`;
    await world.export('stick');
    await rm(world.path('stick/fleet/medium.json'));
    const part = { number: 2, path, size: 30, digest: `sha256:${'cd'.repeat(32)}` };
    const lost = { ...part, number: 1, path: path.replace('0002', '0001') };
    await mkdir(world.path('stick/fleet/parts'), { recursive: true });
    await writeFile(world.path('stick', path), 'age-encryption.org/v1\n12345678');
    await writeFile(
      world.path('stick/fleet/parts.json'),
      canonicalBytes({ format: 1, set, count: 3, sealed: true, parts: [lost, part] }),
    );
    const { filled, parts } = await inspectSealed([world.path('stick')]);
    expect([filled, parts]).toEqual([
      undefined,
      {
        set,
        count: 3,
        sealed: true,
        here: [{ number: 2, path: world.path('stick', path), size: 30, digest: part.digest }],
        missing: [1, 3],
        damaged: [],
      },
    ]);
  });
});
