import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GeneratedFleet, makeFleet } from '../../../bench/fleet/make-fleet.ts';
import { formatError } from '../../../bundles/errors.ts';
import { buildLoaded } from '../../../scheduler/build/pipeline.ts';
import { type BuildMemory, createBuildMemory } from '../../../scheduler/assemble/incremental/build-memory.ts';
import { loadPlatform, sourcesOf } from '../../../scheduler/load/load-platform.ts';
import type { PlatformForm } from '../../../scheduler/model/model.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';
import { type Edit, FLEET_EDITS, toggle } from './platform-edits.ts';

const SIZE = { workloads: 4, clusterTypes: 3, configs: 11, share: 1 };

const build = async (fleet: GeneratedFleet, memory?: BuildMemory) => {
  const options = { ...fleet, fleet: 'bench', cacheDirectory: join(fleet.platform, 'none'), env: {} };
  const sources = sourcesOf({ ...options, ...(memory && { files: memory.files }) });
  const platform = await loadPlatform({ ...options, sources, holdWorkloads: true });
  const { bundles, advice } = await buildLoaded(
    { platform, sources, images: 'unchecked', previous: undefined, workers: 2, memory },
    new AbortController().signal,
  );
  return {
    bundles: bundles.map(({ bundle, held }) => ({
      digest: bundle.digest,
      config: bundle.config.assignments.map(({ id, package: digest }) => `${id} ${digest}`),
      held: held.map(({ error }) => error.message),
    })),
    advice: advice.map(formatError),
  };
};

const EDITS: Readonly<Record<PlatformForm, readonly Edit[]>> = {
  fleet: [
    ...FLEET_EDITS,
    ['platform/base/cluster-types/type-0002.yaml', '"configmap"', '"nowhere"'],
    ['platform/base/cluster-types/type-0002.yaml', '"kubernetes"', '"kubernetes", "offline": true'],
    ['apps/app-0003/workload/workload.yaml', '"tier": "front"', '"tier": "back"'],
    ['apps/app-0003/workload/workload.yaml', 'kind: Workload', 'kind: Workloads'],
  ],
  kalypso: [
    ['prod/configs/c50-type-0.yaml', 'vpn-0', 'vpn-9'],
    ['prod/configs/c00-everywhere.yaml', '5432', '5433'],
    ['prod/configs/c60-app-0.yaml', '"WORKERS":"2"', '"WORKERS":"3"'],
    ['prod/cluster-types/type-0001.yaml', 'region-1', 'region-0'],
    ['prod/cluster-types/type-0002.yaml', '"configmap"', '"nowhere"'],
    ['main/templates/namespace.yaml', 'some-value', 'other-{{ .ClusterType }}'],
    ['main/templates/reconciler.yaml', 'interval: 30s', 'interval: 60s'],
    ['main/templates/config.yaml', '{{ .Namespace }}', '{{ .Namespace | trunc 12 }}'],
    ['apps/app-0001/workload/workload.yaml', '"./prod"', '"./other"'],
    ['apps/app-0003/workload/workload.yaml', 'kind: Workload', 'kind: Workloads'],
  ],
};

test.each(['fleet', 'kalypso'] as const)(
  'an incremental build equals a cold one after any edits of a platform in the form %s',
  async (form) => {
    const root = await temporaryDirectory();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...EDITS[form]), { minLength: 1, maxLength: 5 }),
        async (edits) => {
          await rm(root, { recursive: true, force: true });
          const fleet = await makeFleet(root, form, SIZE);
          const memory = createBuildMemory();
          expect(await build(fleet, memory)).toEqual(await build(fleet));
          for (const edit of edits) {
            expect(await toggle(root, edit)).toBe(true);
            expect(await build(fleet, memory)).toEqual(await build(fleet));
          }
        },
      ),
      { numRuns: 8 },
    );
  },
  240_000,
);

test('an unknown kind is reported in every build, also when nothing is built again', async () => {
  const root = await temporaryDirectory();
  const fleet = await makeFleet(root, 'fleet', SIZE);
  const memory = createBuildMemory();
  await build(fleet, memory);
  const edit: Edit = [
    'apps/app-0001/manifests/service.yaml',
    'apiVersion: v1',
    'apiVersion: plant.example/v1',
  ];
  expect(await toggle(root, edit)).toBe(true);
  const first = await build(fleet, memory);
  expect(first.advice).toEqual([expect.stringContaining('plant.example/v1 Service')]);
  expect(await build(fleet, memory)).toEqual(first);
  expect(await build(fleet)).toEqual(first);
});
