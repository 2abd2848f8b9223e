import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Names as long as large companies have them. */
export const NAMES = {
  fleet: 'acme',
  before: 'acceptance-of-the-northern-and-the-western-region',
  environment: 'production-of-the-northern-and-the-western-region',
  clusterType: 'packaging-line-hosts-with-the-old-kernel-and-labels',
  workload: 'label-printer-for-pallets-and-boxes-of-the-north',
  site: 'plant-of-the-northern-region-with-a-long-name-7',
  agent: 'press-of-the-second-hall-beside-the-loading-bay-1',
} as const;

export const PACKAGE = `${NAMES.workload}-host`;

/** A value that people at the site may change. */
export const LOCAL_VALUE = 'numberOfTheLineThatTheLabelsAreFor';

const object = (kind: string, name: string, spec: object, labels = {}): string =>
  JSON.stringify({ apiVersion: 'fleet-ferry/v1alpha1', kind, metadata: { name, labels }, spec });

const target = (environment: string): object => ({
  name: 'host',
  environment,
  labels: { runs: 'host' },
  manifests: { path: 'host' },
});

/** A package of files with a check that fails where a file `broken` is there. */
const hostPackage = (version: number): string =>
  object('HostPackage', NAMES.workload, {
    files: [
      { path: `/etc/${NAMES.workload}/labels.conf`, content: `${version}` },
      { path: `/etc/${NAMES.workload}/line.json`, content: '{"line":1}', format: 'json' },
    ],
    siteInputs: [
      {
        name: LOCAL_VALUE,
        title: 'Number of the packaging line that the labels of the northern region are for',
        editableBy: 'site',
        unit: 'line',
        schema: { type: 'integer' },
        default: 7,
        file: `/etc/${NAMES.workload}/line.json`,
        pointer: '/line',
      },
    ],
    checks: [
      {
        name: 'labels-of-the-northern-region-can-be-printed',
        type: 'exec',
        argv: ['/bin/sh', '-c', 'test ! -e "$FLEET_ROOT/broken"'],
      },
    ],
  });

/** Writes the platform, and its application with files of this version. */
export const writePlatform = async (folder: string, version: number): Promise<void> => {
  const { before, environment, clusterType, workload } = NAMES;
  const files: Readonly<Record<string, string>> = {
    'platform/fleet.yaml': object('Fleet', NAMES.fleet, {
      environments: [{ name: before }, { name: environment, promotedFrom: before }],
    }),
    'platform/base/type.yaml': object(
      'ClusterType',
      clusterType,
      { target: 'host', configType: 'env-file', reconciler: 'fleet', platforms: ['linux/amd64'] },
      { runs: 'host' },
    ),
    'platform/base/policy.yaml': object('SchedulingPolicy', 'hosts', {
      deploymentTargetSelector: { labelSelector: { matchLabels: { runs: 'host' } } },
      clusterTypeSelector: { labelSelector: { matchLabels: { runs: 'host' } } },
    }),
    'platform/base/config.yaml': object('Config', 'everywhere', { values: { company: NAMES.fleet } }),
    'platform/base/team.yaml': object('WorkloadRegistration', workload, {
      workspace: 'packaging',
      workload: { repo: '../apps/printer', path: 'workload' },
    }),
    'platform/base/workspace.yaml': object('Workspace', 'packaging', {
      host: { users: ['root'] },
      siteValues: [LOCAL_VALUE],
    }),
    'platform/promotion/chain.yaml': object('PromotionPolicy', 'acceptance-to-production', {
      from: before,
      to: environment,
      mode: 'manual',
      compliance: { percent: 100, atLeast: 1, of: 'enrolled' },
    }),
    'platform/promotion/rings.yaml': object('RolloutPolicy', 'rings', {
      environment: before,
      stages: [
        {
          name: 'lines-that-are-watched-by-the-team',
          selector: { matchLabels: { ring: 'pilot' } },
          soak: '1h',
        },
        { name: 'all', percent: 100 },
      ],
    }),
    'apps/printer/workload/workload.yaml': object('Workload', workload, {
      deploymentTargets: [target(before), target(environment)],
    }),
    'apps/printer/host/package.yaml': hostPackage(version),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
};
