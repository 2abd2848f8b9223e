import { defined } from '#bundles/defined';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { EnvironmentBuild } from '../../assemble/environment-build.ts';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import {
  candidateOfRelease,
  declarationOf,
  type BuiltFrom,
} from '../../assemble/candidate/candidate-of-release.ts';
import { isOf, registrationIn } from '../../load/platform/registration-in.ts';
import type { ClusterType } from '../../model/model.ts';
import { readCurrentBase } from '../../load/releases/read-base.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { explainRemoval } from './explain-removal.ts';
import { findLostObjects } from './find-lost-objects.ts';
import type { Removal, RemovalReason } from './removal.ts';

/** The packages of a channel's last release, by id with their workspaces, and the candidate it was built from. */
type Released = {
  readonly packages: ReadonlyMap<string, string | undefined>;
  /** Read once and cached. undefined if it can no longer be read or verified; the reasons for removals are then unknown. */
  readonly made: () => Promise<BuiltFrom | undefined>;
};

export type FindRemovals = (built: BuiltBundle, previous: StoredRelease) => Promise<readonly Removal[]>;

/**
 * Finds the packages that a new bundle removes from its channel, and those that lose objects, and why. Other channels of the environment are read only if
 * a package is gone, and each only once.
 * @returns a function that rejects with FleetError MISSING_BLOB, DIGEST_MISMATCH, LAYOUT_INVALID, SCHEMA, UNKNOWN_KEY if a
 *   release or bundle in the layout cannot be read
 */
export const openRemovals = (
  layout: Layout,
  { platform, bundles }: Pick<EnvironmentBuild, 'platform' | 'bundles'>,
  roots: readonly TrustRoot[],
  signal: AbortSignal,
): FindRemovals => {
  const look = { roots, signal };
  const known = new Map<string, Promise<Released | undefined>>();
  const releasedOf = (name: string, given?: StoredRelease): Promise<Released | undefined> => {
    const channel = { environment: platform.environment, clusterType: name };
    const found = known.get(name) ?? readReleased(layout, channel, given, look);
    known.set(name, found);
    return found;
  };
  const newPlaceOf = async (id: string, from: ClusterType): Promise<string | undefined> => {
    for (const { clusterType, bundle } of bundles) {
      if (clusterType.name === from.name || !bundle.config.assignments.some((one) => one.id === id)) continue;
      if (!(await releasedOf(clusterType.name))?.packages.has(id)) return clusterType.name;
    }
    return undefined;
  };
  const historySince = async (own: BuiltFrom | undefined): Promise<readonly BuiltFrom['candidate'][]> => {
    if (!own) return [];
    const all = new Map<Digest, BuiltFrom>();
    for (const { clusterType } of bundles) {
      const made = await (await releasedOf(clusterType.name))?.made();
      if (made && made.builtAt >= own.builtAt) all.set(made.digest, made);
    }
    // Build times have a resolution of one second. Among equal ones the channel's own candidate counts as the oldest.
    all.delete(own.digest);
    all.set(own.digest, own);
    return [...all.values()]
      .toSorted((a, b) => {
        if (a.builtAt === b.builtAt) return 0;
        return a.builtAt > b.builtAt ? -1 : 1;
      })
      .map(({ candidate }) => candidate);
  };
  const unread = platform.heldWorkloads ?? [];
  const find: FindRemovals = async (built, previous) => {
    const { clusterType, bundle, held } = built;
    const before = await releasedOf(clusterType.name, previous);
    const now = new Set(bundle.config.assignments.map(({ id }) => id));
    const last = previous.subjects.get(`bundle/${bundle.kind}`);
    const lost = last ? await findLostObjects(built, last, layout.blobs, signal) : [];
    const gone = [...(before?.packages ?? [])].filter(([id]) => !now.has(id));
    if (!before || gone.length === 0) return lost;
    const own = await before.made();
    const history = await historySince(own);
    const removals: Removal[] = [];
    const heldNames = new Set(held.map(({ assignment }) => assignment.target.name));
    const reasonOf = async (id: string, workspace: string | undefined): Promise<RemovalReason> => {
      const all = [
        ...history,
        ...(await declarationOf(layout, own, { clusterType: clusterType.name, id }, signal)),
      ];
      const from = unread.length === 0 ? undefined : registrationIn(all, id);
      if (heldNames.has(id) || unread.some((one) => isOf(one, workspace, from))) return { why: 'held' };
      const to = await newPlaceOf(id, clusterType);
      return to === undefined ? explainRemoval(id, clusterType, platform, all) : { why: 'moved', to };
    };
    for (const [assignment, workspace] of gone)
      removals.push({
        ...(await reasonOf(assignment, workspace)),
        assignment,
        ...defined({ workspace }),
      });
    return [...removals, ...lost];
  };
  /** Kept for the second question about the same release: a build asks before it holds packages and again when it decides. */
  const found = new WeakMap<
    BuiltBundle,
    { readonly since: Digest; readonly removals: ReturnType<FindRemovals> }
  >();
  return (built, previous) => {
    const before = found.get(built);
    if (before?.since === previous.digest) return before.removals;
    const removals = find(built, previous);
    found.set(built, { since: previous.digest, removals });
    return removals;
  };
};

type Look = { readonly roots: readonly TrustRoot[]; readonly signal: AbortSignal };

const readReleased = async (
  layout: Layout,
  channel: Channel,
  given: StoredRelease | undefined,
  look: Look,
): Promise<Released | undefined> => {
  const release = given ?? (await readCurrentBase(layout, channel, look.roots)).release;
  if (!release) return undefined;
  const packages = new Map<string, string | undefined>();
  let made: Promise<BuiltFrom | undefined> | undefined;
  for (const digest of bundlesOf(release)) {
    const { config } = await readBundle(layout.blobs, digest, look.signal);
    for (const { id, workspace } of config.assignments) packages.set(id, workspace);
  }
  return {
    packages,
    made: () => (made ??= candidateOfRelease(layout, channel, release.documents, look)),
  };
};
