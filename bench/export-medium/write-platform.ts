import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { imageName } from '../make-release-images.ts';

const object = (kind: string, name: string, spec: object, labels: object = {}): string =>
  JSON.stringify({ apiVersion: 'fleet-ferry/v1alpha1', kind, metadata: { name, labels }, spec });

const deployment = (name: string, image: string): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }] },
      },
    },
  });

/**
 * One environment, one cluster type, one application with a Deployment for each image.
 * @param locked the digest of each image's tag: 'host/repository@sha256:...'
 */
export const writePlatform = async (folder: string, locked: readonly string[]): Promise<void> => {
  const labelSelector = { matchLabels: { ring: 'all' } };
  const files: Record<string, string> = {
    'platform/fleet.yaml': object('Fleet', 'bench', { environments: [{ name: 'prod' }] }),
    'platform/images.lock.yaml': object('ImagesLock', 'images', {
      images: Object.fromEntries(locked.map((pinned, index) => [imageName(index), pinned])),
    }),
    'platform/base/edge.yaml': object(
      'ClusterType',
      'edge',
      {
        target: 'kubernetes',
        namespaceService: 'namespace',
        configType: 'configmap',
        reconciler: 'fleet',
        platforms: ['linux/amd64'],
        offline: true,
      },
      { ring: 'all' },
    ),
    'platform/base/all.yaml': object('SchedulingPolicy', 'all', {
      deploymentTargetSelector: { labelSelector },
      clusterTypeSelector: { labelSelector },
    }),
    'platform/base/apps.yaml': object('WorkloadRegistration', 'apps', {
      workspace: 'bench',
      workload: { repo: '../app', path: 'workload' },
    }),
    'platform/environments/prod/ring.yaml': object('Config', 'ring', { values: { ring: 'all' } }),
    'app/workload/workload.yaml': object('Workload', 'apps', {
      deploymentTargets: [
        { name: 'all', environment: 'prod', labels: { ring: 'all' }, manifests: { path: 'manifests' } },
      ],
    }),
  };
  for (const index of locked.keys())
    files[`app/manifests/app-${index}.yaml`] = deployment(`app-${index}`, imageName(index));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
};
