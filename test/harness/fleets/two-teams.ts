import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeImages } from '../../../examples/make-images.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import type { BuildOptions } from '../../../scheduler/build/build-options.ts';
import type { BuildOutcome } from '../../../scheduler/build/build-outcome.ts';
import { build } from '../../../scheduler/build/build.ts';

type Files = Readonly<Record<string, string | Buffer>>;

/** A fleet of one environment, a cluster type for hosts and one for clusters, and the teams that tests add. */
export type Teams = {
  readonly folder: string;
  readonly layout: string;
  /** Images of the build, name -> name with digest. */
  readonly images: ReadonlyMap<string, string>;
  readonly write: (files: Files) => Promise<void>;
  /** Replaces a team's repository; the platform registers the team under its name and gives it a workspace of its own, with these grants. */
  readonly team: (name: string, files: Files, workspace?: object) => Promise<void>;
  /** Removes its registration and its repository. */
  readonly dismiss: (name: string) => Promise<void>;
  /** Builds after the releases before. */
  readonly build: (options?: Partial<BuildOptions>) => Promise<BuildOutcome>;
};

export const NOW = new Date('2026-11-21T08:00:00Z');

const object = (kind: string, name: string, spec: object, labels = {}): string =>
  JSON.stringify({ apiVersion: 'fleet-ferry/v1alpha1', kind, metadata: { name, labels }, spec });

/** A Workload with one deployment target for hosts and one for clusters. */
export const workload = (name: string, targets: readonly object[]): string =>
  object('Workload', name, { deploymentTargets: targets });

export const hostTarget = {
  name: 'host',
  environment: 'prod',
  labels: { runs: 'host' },
  manifests: { path: 'host' },
};
export const clusterTarget = {
  name: 'cluster',
  environment: 'prod',
  labels: { runs: 'cluster' },
  manifests: { path: 'cluster' },
};

export const hostPackage = (name: string, spec: object): string => object('HostPackage', name, spec);

/** A team that only brings its version, to hosts and clusters. */
export const plainTeam = (name: string, version: number): Readonly<Record<string, string>> => ({
  'workload/workload.yaml': workload(name, [hostTarget, clusterTarget]),
  'host/package.yaml': hostPackage(name, {
    files: [{ path: `/etc/${name}/version`, content: `${version}` }],
  }),
  'cluster/map.yaml': JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'version' },
    data: { version: `${version}` },
  }),
});

const policy = (runs: string): string =>
  object('SchedulingPolicy', runs, {
    deploymentTargetSelector: { labelSelector: { matchLabels: { runs } } },
    clusterTypeSelector: { labelSelector: { matchLabels: { runs } } },
  });

const PLATFORM = {
  'platform/fleet.yaml': object('Fleet', 'acme', { environments: [{ name: 'prod' }] }),
  'platform/base/host.yaml': object(
    'ClusterType',
    'host',
    { target: 'host', configType: 'env-file', reconciler: 'fleet', platforms: ['linux/amd64'] },
    { runs: 'host' },
  ),
  'platform/base/cluster.yaml': object(
    'ClusterType',
    'cluster',
    { target: 'kubernetes', reconciler: 'fleet', platforms: ['linux/amd64'] },
    { runs: 'cluster' },
  ),
  'platform/base/policy-host.yaml': policy('host'),
  'platform/base/policy-cluster.yaml': policy('cluster'),
  'platform/base/config.yaml': object('Config', 'everywhere', { values: { company: 'acme' } }),
};

export const makeTeams = async (folder: string): Promise<Teams> => {
  const layout = join(folder, 'releases');
  const write = async (files: Files): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  const dismiss = async (name: string): Promise<void> => {
    await rm(join(folder, 'apps', name), { recursive: true, force: true });
    await rm(join(folder, 'platform/base', `team-${name}.yaml`), { force: true });
  };
  await write(PLATFORM);
  const images = await makeImages(join(folder, 'images'));
  await initDevRoot(join(folder, 'keys'), 'acme', NOW);
  const keys = await openKeyDirectory(join(folder, 'keys'));
  let built = false;
  return {
    folder,
    layout,
    images,
    write,
    dismiss,
    team: async (name, files, workspace) => {
      await dismiss(name);
      const registration = object('WorkloadRegistration', name, {
        workspace: `team-${name}`,
        workload: { repo: `../apps/${name}`, path: 'workload' },
      });
      const grants = workspace ? `\n---\n${object('Workspace', `team-${name}`, workspace)}` : '';
      await write({ [`platform/base/team-${name}.yaml`]: registration + grants });
      await write(
        Object.fromEntries(Object.entries(files).map(([path, text]) => [`apps/${name}/${path}`, text])),
      );
    },
    build: async (options = {}) => {
      const outcome = await build({
        platform: join(folder, 'platform'),
        maps: [],
        cacheDirectory: join(folder, 'cache'),
        layout,
        images: join(folder, 'images'),
        keys,
        now: NOW,
        signal: new AbortController().signal,
        ...(built && { previous: layout }),
        ...options,
      });
      built = true;
      return outcome;
    },
  };
};
