import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOrStartLayout, writeLayoutIndex } from '../../../bundles/formats/layout/layout.ts';
import { createManifest } from '../../../examples/make-images.ts';
import { build } from '../../../scheduler/build/build.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { NOW, writeDevKeys } from '../dev-keys.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { ours } from '../fleet-platform.ts';
import { readAllSigned } from '../release/read-all-signed.ts';

const workload = (name: string): Record<string, string> => ({
  [`platform/base/${name}.yaml`]: ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: sales\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  ),
  [`apps/${name}/deploy/workload.yaml`]: ours(
    'Workload',
    name,
    'spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: {path: manifests}}]\n',
  ),
  [`apps/${name}/manifests/pod.yaml`]: `apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  containers: [{name: web, image: "registry.example/${name}:1", imagePullPolicy: IfNotPresent}]
`,
});

test.each([65, 200])(
  'a cluster type with %i workloads of one image is released, and the next builds read the release',
  async (count) => {
    const folder = await temporaryDirectory();
    const names = Array.from({ length: count }, (_, at) => `app-${at}`);
    const layout = await openOrStartLayout(join(folder, 'images'));
    const { digest } = await createManifest(layout, 'app', 'amd64');
    await writeLayoutIndex(layout, []);
    const locks = Object.fromEntries(
      names.map((name) => [`registry.example/${name}:1`, `registry.example/${name}@${digest}`]),
    );
    const policy = 'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n';
    await writeFiles(folder, {
      'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: prod}]\n'),
      'platform/images.lock.yaml': ours(
        'ImagesLock',
        'images',
        `spec: ${JSON.stringify({ images: locks })}\n`,
      ),
      'platform/base/edge.yaml': ours('ClusterType', 'edge', 'spec: {}\n'),
      'platform/base/all.yaml': ours('SchedulingPolicy', 'all', policy),
      ...Object.assign({}, ...names.map(workload)),
    });
    await writeDevKeys(folder);
    const buildOnce = async () =>
      (
        await build({
          platform: join(folder, 'platform'),
          maps: [],
          cacheDirectory: join(folder, 'cache'),
          layout: join(folder, 'layout'),
          images: join(folder, 'images'),
          keys: await openKeyDirectory(join(folder, 'keys')),
          now: NOW,
          signal: new AbortController().signal,
        })
      ).channels;
    const assigned = { assignments: count, held: [] };
    expect(await buildOnce()).toMatchObject([{ outcome: 'released', version: 1, ...assigned }]);
    await readAllSigned(join(folder, 'layout'));
    expect(await buildOnce()).toMatchObject([{ outcome: 'unchanged', version: 1, ...assigned }]);
    // The next release is compared with the one before, which therefore is read, too.
    await writeFiles(folder, {
      'platform/base/config.yaml': ours('Config', 'all', 'spec:\n  values: {LOG: info}\n'),
    });
    const [changed] = await buildOnce();
    expect(changed).toMatchObject({ outcome: 'released', version: 2, ...assigned });
    expect(changed?.unread).toBeUndefined();
  },
);
