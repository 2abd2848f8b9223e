import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { agentFolder, type Medium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../exporter/verify/verify-medium.ts';
import { NOW } from '../harness/fleets/signed-fleet.ts';
import { refused } from './refused.ts';
import { makeKioskWorld } from './world.ts';

const codes = async (path: string) => {
  await using open = await openMedium(path);
  return (await verifyMedium(open, undefined, NOW)).checks.flatMap(({ code }) => code ?? []);
};

it('M41: writes nothing where a link or pipe is in the place of a receipt -> MEDIUM_INVALID', async () => {
  await using world = await makeKioskWorld();
  const agent = 'plant-7/line-1';
  await world.layout.receipts('plant-7', [{ agent, from: 1, to: 9 }]);
  const file = world.path('medium/fleet/receipts', `${agentFolder(agent)}.sigstore.json`);
  const outside = world.path('outside');
  await writeFile(outside, 'untouched');
  await mkdir(world.path('medium/fleet/receipts'), { recursive: true });
  await symlink(outside, file);
  expect(await refused(world.export('medium', { sites: ['plant-7'] }))).toBe('MEDIUM_INVALID');
  expect(await readFile(outside, 'utf8')).toBe('untouched');
  await rm(file);
  execFileSync('mkfifo', [file]);
  expect(await refused(world.export('medium', { sites: ['plant-7'] }))).toBe('MEDIUM_INVALID');
  await rm(file);
  expect(await refused(world.export('medium', { sites: ['plant-7'] }))).toBeUndefined();
});

it('M42: does not wait for a pipe in place of a document, and names it -> MEDIUM_INVALID', async () => {
  await using world = await makeKioskWorld();
  await world.export('medium', { sites: ['plant-7'] });
  const medium = JSON.parse(await readFile(world.path('medium/fleet/medium.json'), 'utf8')) as Medium;
  const roles = ['root', 'site', 'release'];
  for (const { digest } of medium.documents.filter(({ role }) => roles.includes(role))) {
    const blob = world.path('medium/blobs/sha256', hexOf(digest));
    const bytes = await readFile(blob);
    await rm(blob);
    execFileSync('mkfifo', [blob]);
    expect(await codes(world.path('medium'))).toEqual(expect.arrayContaining(['MEDIUM_INVALID']));
    await rm(blob);
    await writeFile(blob, bytes);
  }
  expect(await codes(world.path('medium'))).toEqual([]);
});
