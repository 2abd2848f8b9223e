import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { takesBundle } from '../../model/reconciler-traits.ts';
import type { ClusterType, DeploymentTarget, Platform, SourceSnapshot, Target } from '../../model/model.ts';
import { checkLimit } from '../../model/limits.ts';
import { findKustomization } from '../sources/kustomization-file.ts';
import type { Location } from '../../model/location.ts';
import { cleanPath, type Source, type Sources } from '../sources/open-sources.ts';
import type { HelmSource, ReadApplication } from './application-source.ts';
import { boundOfTarget } from './bound-applications.ts';
import { describedBy, isDescriptorFile } from './deployment-descriptor.ts';
import { checkRepository } from './check-repository.ts';
import { readKustomization } from './kustomization.ts';
import { type ManifestSettings, manifestSettings } from '../charts/manifest-settings.ts';
import { readKustomizeTree } from './read-kustomize-tree.ts';

/**
 * Whether the bundle holds the application's files: it does if our agent applies them or the reconciler pulls the bundle
 * from the registry. Any other reconciler fetches them from the place in its reconciler.yaml.
 */
export const bundlesApplication = (clusterType: ClusterType): boolean =>
  clusterType.target === 'host' || takesBundle(clusterType.reconciler);

/** Reads a folder or file in the repository of the application. */
export type ReadFolder = (path: string) => Promise<Source>;

/**
 * Reads what a deployment target's `manifests` name: `path` in `repo` at `branch`, by default in the workload's own
 * repository. It returns plain objects, a kustomization with the folders it names, or a chart with its values; for hosts
 * always the files as they are.
 * @throws FleetError SOURCE_MISSING, SOURCE_UNREACHABLE, REFERENCE_MISSING, FIELD_INVALID, REPOSITORY_FOREIGN,
 * WORKSPACE_LIMIT
 */
export const readApplication = async (
  sources: Sources,
  platform: Platform,
  target: DeploymentTarget,
  appliedTo: Target,
): Promise<ReadApplication> => {
  const settings = manifestSettings(target);
  if (appliedTo === 'kubernetes' && settings.chart && settings.values.length === 0)
    return {
      source: helmSource(settings, { from: 'elsewhere', reference: settings.chart }, []),
      snapshots: [],
    };
  const base = baseOf(sources, platform, target);
  const within = typeof target.manifests['path'] === 'string' ? target.manifests['path'] : '.';
  const folder = posix.join(cleanPath(base.path), cleanPath(within));
  const bound = boundOfTarget(platform, target);
  let bytes = 0;
  const read: ReadFolder = async (path) => {
    const role = `application/${target.name}`;
    const source = await sources.read({ role, location: base.location, path, which: 'all', bound });
    bytes += source.files.reduce((sum, file) => sum + file.bytes.length, 0);
    if (bound) checkLimit(bound, 'assignmentBytes', bytes, 'all files');
    return source;
  };
  const first = await read(folder);
  const described = describedBy(first.files, target);
  const made = await readAs(first, { settings, folder, read, appliedTo });
  if (!described) return made;
  const { role, path } = first.snapshot;
  return {
    ...made,
    snapshots: made.snapshots.map((one) =>
      one.role === role && one.path === path ? { ...one, described } : one,
    ),
  };
};

type Reading = {
  readonly settings: ManifestSettings;
  readonly folder: string;
  readonly read: ReadFolder;
  readonly appliedTo: Target;
};

const readAs = async (
  first: Source,
  { settings, folder, read, appliedTo }: Reading,
): Promise<ReadApplication> => {
  if (appliedTo === 'host') return plain(first);
  const files = new Map(first.files.map((file) => [file.path, file.bytes]));
  const kind = settings.type ?? typeOf(settings, files);
  switch (kind) {
    case 'plain':
      return plain(first, withoutDescriptors(first));
    case 'kustomize':
      return await readOverlay(first, folder, files, read);
    case 'helm': {
      const chart: HelmSource['chart'] = settings.chart
        ? { from: 'elsewhere', reference: settings.chart }
        : { from: 'repository', files: checkChart(files, first.prefix), shown: first.prefix };
      const { values, snapshots } = await readValues(settings.values, first, folder, files, read);
      return { source: helmSource(settings, chart, values), snapshots: [first.snapshot, ...snapshots] };
    }
  }
};

const typeOf = (settings: ManifestSettings, files: ReadonlyMap<string, Buffer>) => {
  if (settings.chart || files.has('Chart.yaml')) return 'helm';
  return findKustomization(files, '.') === undefined ? 'plain' : 'kustomize';
};

const plain = (source: Source, only?: ReadonlySet<string>): ReadApplication => ({
  source: {
    kind: 'plain',
    application: {
      shown: source.prefix,
      files: new Map(
        source.files.filter(({ path }) => !only || only.has(path)).map(({ path, bytes }) => [path, bytes]),
      ),
    },
  },
  snapshots: [source.snapshot],
});

const withoutDescriptors = ({ files }: Source): ReadonlySet<string> =>
  new Set(files.flatMap(({ path, bytes }) => (isDescriptorFile(path, bytes) ? [] : [path])));

/**
 * A folder of type kustomize without a kustomization is read as plain objects: Flux would generate the list. One that only
 * lists its own files needs no tool, so that errors keep their line numbers.
 */
const readOverlay = async (
  first: Source,
  folder: string,
  files: ReadonlyMap<string, Buffer>,
  read: ReadFolder,
): Promise<ReadApplication> => {
  const name = findKustomization(files, '.');
  if (name === undefined) return plain(first, withoutDescriptors(first));
  const bytes = files.get(name) ?? Buffer.alloc(0);
  const { entries, listing } = readKustomization(name, `${first.prefix}${name}`, bytes);
  const listed = entries.map((entry) => posix.normalize(entry));
  if (listing && listed.every((entry) => files.has(entry) && isYaml(entry)))
    return plain(first, new Set(listed));
  return await readKustomizeTree(first, folder, read);
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);

const helmSource = (
  { configUnder, releaseName, hooks }: ManifestSettings,
  chart: HelmSource['chart'],
  values: HelmSource['values'],
): HelmSource => ({ kind: 'helm', chart, values, configUnder, releaseName, hooks });

const checkChart = (files: ReadonlyMap<string, Buffer>, shown: string): ReadonlyMap<string, Buffer> => {
  if (files.has('Chart.yaml')) return files;
  throw new FleetError('REFERENCE_MISSING', `there is no Chart.yaml in ${shown}`, {
    hint: 'Let path name the folder of the chart, or chart one of a registry',
  });
};

/** For a single file of a directory the prefix already ends with its path. */
const showSingle = ({ prefix, snapshot }: Source, name: string): string =>
  prefix.endsWith(`${snapshot.path}/`) ? prefix.slice(0, -1) : `${prefix}${name}`;

/** Values files may be outside of the chart's folder: the chart is shared, the values belong to the environment. */
const readValues = async (
  names: readonly string[],
  first: Source,
  folder: string,
  files: ReadonlyMap<string, Buffer>,
  read: ReadFolder,
): Promise<{ readonly values: HelmSource['values']; readonly snapshots: readonly SourceSnapshot[] }> => {
  const values: { shown: string; bytes: Buffer }[] = [];
  const snapshots: SourceSnapshot[] = [];
  for (const name of names) {
    const inside = files.get(posix.normalize(name));
    if (inside) {
      values.push({ shown: `${first.prefix}${posix.normalize(name)}`, bytes: inside });
      continue;
    }
    const source = await read(posix.join(folder, name));
    const [file, more] = source.files;
    if (!file || more || file.path !== posix.basename(name))
      throw new FleetError('REFERENCE_MISSING', `the values ${name} are not a file`, {
        hint: 'Name the file, relative to path',
      });
    values.push({ shown: showSingle(source, file.path), bytes: file.bytes });
    snapshots.push(source.snapshot);
  }
  return { values, snapshots };
};

const baseOf = (
  sources: Sources,
  platform: Platform,
  target: DeploymentTarget,
): { readonly location: Location; readonly path: string } => {
  const { repo, branch, ref } = target.manifests;
  if (typeof repo === 'string') {
    const location = sources.locate(repo, revisionOf(branch, ref));
    checkRepository(platform, target, repo, location.kind === 'directory');
    const isTenant = target.registration !== undefined;
    return {
      location: location.kind === 'git' && isTenant ? { ...location, redirects: 'refused' } : location,
      path: '.',
    };
  }
  const registered = platform.repositories.get(target.registration ?? '');
  if (registered) return registered;
  throw new FleetError(
    'REFERENCE_MISSING',
    `deployment target ${target.name} does not name the source of its files`,
    {
      subject: target.name,
      at: target.at,
      hint: 'Give its manifests a repo and a path',
    },
  );
};

const revisionOf = (branch: unknown, ref: unknown) => {
  if (typeof branch === 'string') return { kind: 'branch', name: branch } as const;
  return typeof ref === 'string' ? ({ kind: 'any', name: ref } as const) : ({ kind: 'head' } as const);
};
