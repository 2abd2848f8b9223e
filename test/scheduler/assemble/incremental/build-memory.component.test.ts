import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type GeneratedFleet, makeFleet } from '../../../../bench/fleet/make-fleet.ts';
import { buildLoaded } from '../../../../scheduler/build/pipeline.ts';
import {
  type BuildMemory,
  type EnvironmentMemory,
  type KeptBundle,
  createBuildMemory,
} from '../../../../scheduler/assemble/incremental/build-memory.ts';
import type { BundleInput } from '../../../../scheduler/assemble/bundle/bundle-input.ts';
import { NO_LAST_GOOD } from '../../../../scheduler/assemble/bundle/last-good-packages.ts';
import { reuseBundle } from '../../../../scheduler/assemble/incremental/reuse-bundle.ts';
import { contentCache } from '../../../../scheduler/assemble/content/contents.ts';
import { fileArtifact } from '../../../../scheduler/assemble/content/file-artifact.ts';
import { loadPlatform, sourcesOf } from '../../../../scheduler/load/load-platform.ts';
import { temporaryDirectory } from '../../file-tree.ts';

const SIZE = { workloads: 4, clusterTypes: 3, configs: 11, share: 1 };

const build = async (fleet: GeneratedFleet, memory?: BuildMemory) => {
  const options = { ...fleet, fleet: 'bench', cacheDirectory: join(fleet.platform, 'none'), env: {} };
  const sources = sourcesOf(options);
  const platform = await loadPlatform({ ...options, sources, holdWorkloads: true });
  const { bundles } = await buildLoaded(
    { platform, sources, images: 'unchecked', previous: undefined, workers: 2, memory },
    new AbortController().signal,
  );
  return bundles.map(({ bundle, held }) => ({
    digest: bundle.digest,
    config: bundle.config.assignments.map(({ id, package: digest }) => `${id} ${digest}`),
    held: held.map(({ error }) => error.message),
  }));
};

test.each(['fleet', 'kalypso'] as const)(
  '%s: one changed value of one cluster type rebuilds one bundle, and no other',
  async (form) => {
    const root = await temporaryDirectory();
    const fleet = await makeFleet(root, form, SIZE);
    const memory = createBuildMemory();
    const before = await build(fleet, memory);
    const kept = new Map(memory.environments.get('prod')?.bundles);
    const [edit] = fleet.edits;
    const file = edit?.path ?? '';
    await writeFile(file, (await readFile(file, 'utf8')).replace(edit?.from ?? '', edit?.to ?? ''));
    const after = await build(fleet, memory);
    expect(after.map(({ digest }, at) => digest === before[at]?.digest)).toEqual([false, true, true]);
    const now = memory.environments.get('prod')?.bundles;
    // By name: which of two that are made at the same time is ready first is open.
    const names = [...kept.keys()].toSorted();
    expect(names.map((name) => now?.get(name) === kept.get(name))).toEqual([false, true, true]);
    // And to the byte what a cold build makes of it.
    expect(after).toEqual(await build(fleet));
  },
);

test('a cached bundle is built again when other workspaces read site values in the last releases', async () => {
  const fleet = await makeFleet(await temporaryDirectory(), 'fleet', SIZE);
  const memory = createBuildMemory();
  await build(fleet, memory);
  const environment = memory.environments.get('prod') as EnvironmentMemory;
  const known = [...environment.bundles.values()][0] as KeptBundle;
  const input: BundleInput = {
    platform: environment.platform as BundleInput['platform'],
    clusterType: known.built.clusterType,
    packages: known.packages,
    held: [],
    applicationOf: (one) => known.applications[known.packages.indexOf(one)],
    lastGood: NO_LAST_GOOD,
    rolledBack: new Map(),
    resolve: undefined,
    contents: {} as BundleInput['contents'],
    manifests: new Map(),
    judge: { target: known.judgedFor ?? '', judge: () => [], isUnknown: () => false },
  };
  expect(await reuseBundle(environment, input)).toBeDefined();
  const readers = new Map([['port', new Set(['other-team'])]]);
  expect(await reuseBundle(environment, { ...input, readers })).toBeUndefined();
});

test('a cached bundle is built again when a host file of it is no longer in the content cache', async () => {
  const fleet = await makeFleet(await temporaryDirectory(), 'fleet', SIZE);
  const memory = createBuildMemory();
  await build(fleet, memory);
  const bundles = memory.environments.get('prod')?.bundles ?? new Map<string, KeptBundle>();
  const cache = contentCache(await temporaryDirectory());
  const bytes = Buffer.from('weights');
  const content = { digest: digestOf(bytes), size: bytes.length, source: cache };
  for (const [name, kept] of bundles)
    bundles.set(name, { ...kept, built: { ...kept.built, contents: [fileArtifact(content)] } });
  const isKept = () => [...bundles.values()].map(({ built }) => built.contents.length === 1);
  await cache.write(content.digest, content.size, bytes);
  await build(fleet, memory);
  expect(isKept()).toEqual([true, true, true]);
  await cache.remove(content.digest);
  await build(fleet, memory);
  expect(isKept()).toEqual([false, false, false]);
});
