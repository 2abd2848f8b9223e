import { unpackLayer } from '#bundles/archive/unpack-layer';
import type { FleetError } from '#bundles/errors';
import { bundlesApplication } from '../application/read-application.ts';
import { buildEnvironment } from '../build-environment.ts';
import type { BuiltBundle } from '../bundle/build-bundle.ts';
import { knownCharts } from '../charts/known-charts.ts';
import { knownContents } from '../content/known-contents.ts';
import type { Platform } from '../platform/model.ts';
import type { Sources } from '../platform/sources/open-sources.ts';
import { renderEnvironment } from '../render/render-environment.ts';

/** Everything that one state of a platform gives an environment, by where it belongs. */
export type EnvironmentView = {
  /** Files that belong to no cluster type, by path. */
  readonly files: Files;
  readonly clusterTypes: ReadonlyMap<string, TypeView>;
  /** '<cluster type>/<target>': is it only held, so that what is at the sites stays? */
  readonly isKept: (folder: string) => boolean;
};

export type Files = ReadonlyMap<string, Buffer>;

export type TypeView = {
  /** By assignment; the GitOps tree's files, and the application's own where our bundle carries them. */
  readonly assignments: ReadonlyMap<string, Files>;
  readonly held: ReadonlyMap<string, FleetError>;
};

const LIMITS = { maxBytes: 1 << 30, maxEntries: 1_000_000 };

/** Renders and bundles; images are not looked for, nothing is signed or written. */
export const viewEnvironment = async (
  platform: Platform,
  sources: Sources,
  {
    env,
    cacheDirectory,
    signal,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly cacheDirectory: string;
    readonly signal: AbortSignal;
  },
): Promise<EnvironmentView> => {
  const rendered = renderEnvironment(platform);
  const { result, tree, isKept } = rendered;
  const { bundles } = await buildEnvironment(
    {
      platform,
      rendered,
      sources,
      images: 'unchecked',
      previous: undefined,
      workers: 1,
      env,
      // What was fetched for a build before; none is fetched to look at a difference.
      charts: knownCharts(cacheDirectory),
      contents: knownContents(cacheDirectory),
    },
    signal,
  );
  const files = [...tree].filter(([path]) => path.startsWith('.'));
  return {
    files: new Map(files),
    isKept,
    clusterTypes: new Map(
      bundles.map((built) => {
        const { name } = built.clusterType;
        const packages = result.packages.filter(({ assignment }) => assignment.clusterType.name === name);
        const own = applicationFiles(built);
        const assignments = packages.map(({ assignment: { target }, files: texts }) => {
          const all = new Map(texts.map(({ path, bytes }) => [path, bytes]));
          for (const [path, bytes] of own.get(target.name) ?? []) if (!all.has(path)) all.set(path, bytes);
          return [target.name, all] as const;
        });
        const held = [
          ...result.held.filter(({ assignment }) => assignment.clusterType.name === name),
          ...(carriesApplications(built) ? built.held : []),
        ].map(({ assignment, error }) => [assignment.target.name, error] as const);
        return [name, { assignments: new Map(assignments), held: new Map(held) }];
      }),
    ),
  };
};

/** Other reconcilers fetch the application themselves; what our bundle could hold of it is nobody's concern there. */
const carriesApplications = ({ clusterType }: BuiltBundle): boolean => bundlesApplication(clusterType);

/** What a bundle has of each package, but for the list of its own files. */
const applicationFiles = (built: BuiltBundle): ReadonlyMap<string, Files> => {
  if (!carriesApplications(built)) return new Map();
  const packages = new Map<string, Map<string, Buffer>>();
  const { config, blobs } = built.bundle;
  const layers = new Set(config.assignments.map(({ layer }) => layer));
  for (const { descriptor, bytes } of blobs) {
    if (!layers.has(descriptor.digest)) continue;
    for (const [path, file] of unpackLayer(bytes, LIMITS)) {
      const slash = path.indexOf('/');
      const [id, inside] = [path.slice(0, slash), path.slice(slash + 1)];
      if (slash === -1 || inside === 'kustomization.yaml') continue;
      const files = packages.get(id) ?? new Map<string, Buffer>();
      packages.set(id, files.set(inside, file.bytes));
    }
  }
  return packages;
};
