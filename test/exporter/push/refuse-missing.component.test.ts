import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type OpenMedium, parseMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { refuseMissing, removeNeeds } from '../../../exporter/push/refuse-missing.ts';
import { refusal } from '../../bundles/trust/age/in-memory.ts';
import { verdict } from '../../bundles/verdict.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const blob = { digest: digestOf('new layer'), size: 9 };
const delta = {
  ...blob,
  base: digestOf('old layer'),
  form: 'plain',
  patch: { path: 'fleet/deltas/a.zst', size: 1, digest: digestOf('p') },
};
const bundle = {
  environment: 'prod',
  clusterType: 'kiosk',
  kind: 'kubernetes',
  digest: digestOf('bundle'),
  size: 500,
  base: [],
  assumed: [blob],
};

const mediumWith = (more: object): Pick<OpenMedium, 'path' | 'roots' | 'medium'> => {
  const table = {
    format: 1,
    fleet: 'acme',
    createdAt: '2026-11-21T08:00:00Z',
    documents: [],
    chunks: [],
    critical: [],
  };
  const bytes = Buffer.from(JSON.stringify({ ...table, bundles: [bundle], ...more }));
  return { path: 'plant-7.tar', roots: [], medium: parseMedium(bytes) };
};

const hintOf = async (more: object): Promise<string | undefined> => {
  const medium = mediumWith(more) as OpenMedium;
  const refused = refuseMissing(medium, 'oci://edge/fleet', [blob.digest], [], new Date(0));
  return (await refusal(() => refused)).hint;
};

it('a delta without its base is refused with the hint to push the base first', async () => {
  expect(await hintOf({})).toContain('push the one first that this one builds on');
});

it('a medium with patches is refused with the hint to leave out --binary-deltas', async () => {
  expect(await hintOf({ deltas: [delta], critical: ['deltas'] })).toContain('without --binary-deltas');
});

it('M41: a registry that lacks a base leaves its note on the stick, and not where a link on it leads -> MEDIUM_INVALID', async () => {
  await using folder = await temporaryDirectory('push');
  const [stick, elsewhere] = [join(folder.path, 'stick'), join(folder.path, 'elsewhere')];
  for (const path of [stick, elsewhere]) await mkdir(path);
  const medium = { ...mediumWith({}), roots: [stick] } as unknown as OpenMedium;
  const refused = async () =>
    (await refusal(() => refuseMissing(medium, 'oci://edge/fleet', [blob.digest], [], new Date(0)))).hint;
  await symlink(elsewhere, join(stick, 'fleet'));
  expect(await refused()).toContain('push the one first');
  await removeNeeds(medium);
  expect(await readdir(elsewhere)).toEqual([]);
  expect(await verdict(() => openMedium(stick))).toBe('MEDIUM_INVALID');
  await rm(join(stick, 'fleet'));
  expect(await refused()).toContain('-needs.json on it lists the missing blobs');
  expect(await readdir(join(stick, 'fleet/requests'))).toHaveLength(1);
  await removeNeeds(medium);
  expect(await readdir(join(stick, 'fleet/requests'))).toEqual([]);
});
