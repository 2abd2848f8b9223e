import type { Digest } from '#bundles/digest';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import type { FleetError } from '#bundles/errors';
import { bundlesApplication } from '../../load/applications/read-application.ts';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import { checkSources } from '../../assemble/candidate/check-candidate.ts';
import { type GivenCandidate, isOwn } from '../../assemble/candidate/given-candidate.ts';
import type { Platform } from '../../model/model.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { keptFolders, renderTree } from '../../render/render-tree.ts';
import { type BuiltPlatform, buildPlatform } from '../build-environment.ts';

/** The output of one state of a platform for an environment, by cluster type. */
export type EnvironmentView = {
  /** Files that belong to no cluster type, by path. */
  readonly files: Files;
  readonly clusterTypes: ReadonlyMap<string, TypeView>;
  /** Whether '<cluster type>/<target>' is only held, so that sites keep their package. */
  readonly isKept: (folder: string) => boolean;
  /** Why applications could not be read; their packages are held. */
  readonly unread?: readonly FleetError[];
};

export type Files = ReadonlyMap<string, Buffer>;

export type TypeView = {
  /** The bundle that has all of them. */
  readonly bundle?: Digest;
  /** Namespaces by assignment, as far as they are known. */
  readonly namespaces?: ReadonlyMap<string, string>;
  /** Files by assignment: the GitOps tree's, and the application's own where our bundle carries them. Each call unpacks those of a bundle. */
  readonly readAssignments: () => ReadonlyMap<string, Files>;
  readonly held: ReadonlyMap<string, FleetError>;
};

export type ViewOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheDirectory: string;
  readonly signal: AbortSignal;
  /** Bundles only, as in a release. */
  readonly onlyBundles?: boolean;
  /** Candidate whose sources must be read exactly; otherwise CANDIDATE_MISMATCH. */
  readonly candidate?: GivenCandidate;
};

/** Renders and bundles an environment without resolving images, signing or writing. */
export const viewEnvironment = async (
  platform: Platform,
  sources: Sources,
  { onlyBundles, candidate, ...options }: ViewOptions,
): Promise<EnvironmentView> => {
  const built = await buildPlatform(platform, sources, options);
  const { environment } = platform;
  if (candidate) checkSources(candidate, built.sources, environment, isOwn(candidate, environment));
  return viewBuilt(built, onlyBundles);
};

/** The view of an environment that was built. @param onlyBundles as in a release */
export const viewBuilt = (
  { platform, bundles, result }: BuiltPlatform,
  onlyBundles = false,
): EnvironmentView => {
  const isKept = keptFolders(platform, result);
  const unread = (platform.heldWorkloads ?? []).flatMap(({ errors }) => errors);
  if (onlyBundles) {
    // A channel without packages has no release.
    const clusterTypes = bundles
      .filter(({ bundle, held }) => bundle.config.assignments.length + held.length > 0)
      .map(viewBundle);
    return { files: new Map(), isKept, unread, clusterTypes: new Map(clusterTypes) };
  }
  const files = [...renderTree(platform, result)].filter(([path]) => path.startsWith('.'));
  return {
    files: new Map(files),
    isKept,
    unread,
    clusterTypes: new Map(
      bundles.map((built) => {
        const { name } = built.clusterType;
        const packages = result.packages.filter(({ assignment }) => assignment.clusterType.name === name);
        const own = carriesApplications(built) ? packageFiles(built) : new Map<string, Files>();
        const assignments: ReadonlyMap<string, Files> = new Map(
          packages.map(({ assignment: { target }, files: texts }) => {
            const all = new Map<string, Buffer>(texts.map(({ path, text }) => [path, Buffer.from(text)]));
            for (const [path, bytes] of own.get(target.name) ?? []) if (!all.has(path)) all.set(path, bytes);
            return [target.name, all] as const;
          }),
        );
        const held = [
          ...result.held.filter(({ assignment }) => assignment.clusterType.name === name),
          ...(carriesApplications(built) ? built.held : []),
        ].map(({ assignment, error }) => [assignment.target.name, error] as const);
        return [name, { readAssignments: () => assignments, held: new Map(held) }];
      }),
    ),
  };
};

/** Other reconcilers fetch the application themselves, so that our bundle of it is not compared. */
const carriesApplications = ({ clusterType }: BuiltBundle): boolean => bundlesApplication(clusterType);

const viewBundle = (built: BuiltBundle): readonly [string, TypeView] => {
  const held = built.held.map(({ assignment, error }) => [assignment.target.name, error] as const);
  const { digest: bundle, config } = built.bundle;
  const view = {
    bundle,
    namespaces: namespacesIn(config),
    readAssignments: () => packageFiles(built),
    held: new Map(held),
  };
  return [built.clusterType.name, view];
};

export const namespacesIn = ({ assignments }: BundleConfig): ReadonlyMap<string, string> =>
  new Map(assignments.flatMap(({ id, namespace }) => (namespace === undefined ? [] : [[id, namespace]])));

const packageFiles = ({ bundle: { config, blobs } }: BuiltBundle): ReadonlyMap<string, Files> => {
  const layers = new Set(config.assignments.map(({ layer }) => layer));
  return unpackPackages(
    blobs.filter(({ descriptor }) => layers.has(descriptor.digest)).map(({ bytes }) => bytes),
  );
};
