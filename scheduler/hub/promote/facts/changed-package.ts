import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import type { Digest } from '#bundles/digest';
import type { EnvironmentBuild } from '../../../assemble/environment-build.ts';
import { describePackage, type Version } from '../../questions/history/describe-package.ts';

/** An assignment that a candidate would change in the later environment. */
export type ChangedPackage = {
  readonly clusterType: string;
  readonly assignment: string;
  readonly workload: string | null;
  /** The package of the newest release, and the bundle that has it; null: the assignment is new. */
  readonly before: { readonly package: Digest; readonly bundle: Digest } | null;
  /** The package that a build from the candidate makes; null: it has none any more. */
  readonly after: {
    readonly package: Digest;
    readonly version: Version;
    readonly files: ReadonlyMap<string, Buffer>;
  } | null;
};

/** A bundle of the newest release of a channel. */
type Before = {
  readonly digest: Digest;
  readonly config: EnvironmentBuild['bundles'][number]['bundle']['config'];
};

type Changed = {
  readonly sources: EnvironmentBuild['sources'];
  readonly bundle: EnvironmentBuild['bundles'][number];
  readonly before: readonly Before[];
  /** Names of the assignments that differ. */
  readonly ids: ReadonlySet<string>;
};

/** The changed assignments of one channel. Layers are unpacked only where an assignment changes. */
export const changedPackages = ({
  sources,
  bundle: built,
  before,
  ids,
}: Changed): readonly ChangedPackage[] => {
  if (ids.size === 0) return [];
  const { config, blobs } = built.bundle;
  const after = new Map(config.assignments.map((one) => [one.id, one]));
  const layers = new Set([...ids].flatMap((id) => after.get(id)?.layer ?? []));
  const files = unpackPackages(
    blobs.filter(({ descriptor }) => layers.has(descriptor.digest)).map(({ bytes }) => bytes),
  );
  return [...ids].map((id): ChangedPackage => {
    const now = after.get(id);
    const old = before.flatMap(({ digest, config: { assignments } }) =>
      assignments.filter((one) => one.id === id).map((one) => ({ bundle: digest, ...one })),
    )[0];
    const workload = (now ?? old)?.workload ?? null;
    const own = files.get(id) ?? new Map<string, Buffer>();
    const source =
      sources.find(({ role }) => role === `application/${id}`) ??
      sources.find(({ role }) => workload !== null && role === `workload/${workload}`);
    return {
      clusterType: built.clusterType.name,
      assignment: id,
      workload,
      before: old ? { package: old.package, bundle: old.bundle } : null,
      after: now
        ? { package: now.package, version: describePackage(workload ?? id, source, own), files: own }
        : null,
    };
  });
};
