import { readFile, rm, writeFile } from 'node:fs/promises';
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

/** What people do to a platform; each is done by text, so that places move too. */
const EDITS: Readonly<Record<PlatformForm, readonly (readonly [string, string, string])[]>> = {
  fleet: [
    ['platform/environments/prod/configs/c50-type-0.yaml', 'vpn-0', 'vpn-9'],
    ['platform/environments/prod/configs/c00-everywhere.yaml', '5432', '5433'],
    ['platform/environments/prod/configs/c20-region-1.yaml', 'apiVersion', '# A note.\napiVersion'],
    ['platform/environments/prod/configs/c60-app-0.yaml', '"WORKERS": "2"', '"WORKERS": "3"'],
    ['platform/environments/prod/configs/c00-everywhere.yaml', '"info"', '"verbose"'],
    ['platform/base/cluster-types/type-0001.yaml', 'region-1', 'region-0'],
    ['platform/base/cluster-types/type-0002.yaml', '"configmap"', '"nowhere"'],
    ['platform/base/cluster-types/type-0002.yaml', '"kubernetes"', '"kubernetes", "offline": true'],
    ['platform/images.lock.yaml', '5a5a', '5b5b'],
    ['apps/app-0001/manifests/deployment.yaml', 'replicas: 2', 'replicas: 3'],
    ['apps/app-0002/manifests/service.yaml', 'kind: Service', 'kind: [Service'],
    [
      'apps/app-0001/manifests/service.yaml',
      'apiVersion: v1\nkind: S',
      'apiVersion: plant.example/v1\nkind: S',
    ],
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

/** Does an edit, or takes it back where it is done. */
const toggle = async (root: string, [path, from, to]: readonly [string, string, string]): Promise<void> => {
  const file = join(root, path);
  const text = await readFile(file, 'utf8');
  const changed = text.includes(to) ? text.replace(to, from) : text.replace(from, to);
  expect(changed).not.toBe(text);
  await writeFile(file, changed);
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
            await toggle(root, edit);
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
  await toggle(root, [
    'apps/app-0001/manifests/service.yaml',
    'apiVersion: v1',
    'apiVersion: plant.example/v1',
  ]);
  const first = await build(fleet, memory);
  expect(first.advice).toEqual([expect.stringContaining('plant.example/v1 Service')]);
  expect(await build(fleet, memory)).toEqual(first);
  expect(await build(fleet)).toEqual(first);
});
