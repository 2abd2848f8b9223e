import { readBundle } from '#bundles/bundle/read-bundle';
import type { Candidate } from '#bundles/candidate';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { statementFiles } from '#bundles/layout/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { BundlePredicate } from '#bundles/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root';
import { verifyUnder } from '#bundles/trust/verify-under';
import { parseDocument } from '#bundles/validate';
import type { EnvironmentBuild } from '../build-environment.ts';
import type { BuiltBundle } from '../bundle/build-bundle.ts';
import { readCandidate } from '../candidate/read-candidate.ts';
import type { ClusterType } from '../platform/model.ts';
import { endsRun } from '../platform/problems.ts';
import { type PublishedRelease, readRelease } from '../publish/read-release.ts';
import { explainRemoval } from './explain-removal.ts';
import type { Removal, RemovalReason } from './removal.ts';

/** The packages of a channel's last release with their workspaces, and what it was made from. */
type Released = {
  readonly packages: ReadonlyMap<string, string | undefined>;
  /** Read once. undefined where it cannot be read or verified any more: then nobody knows what declared its packages. */
  readonly made: () => Promise<Made | undefined>;
};

type Made = {
  readonly digest: Digest;
  readonly candidate: Pick<Candidate, 'declared'>;
  readonly builtAt: string;
};

export type FindRemovals = (built: BuiltBundle, previous: PublishedRelease) => Promise<readonly Removal[]>;

/**
 * Finds the packages that a bundle takes away from its channel, and why. Other channels of the environment are read only
 * when something is gone, each once.
 * @returns a function that throws FleetError those of readRelease and readBundle
 */
export const openRemovals = (
  layout: Layout,
  { platform, bundles }: Pick<EnvironmentBuild, 'platform' | 'bundles'>,
  roots: readonly TrustRoot[],
  signal: AbortSignal,
): FindRemovals => {
  const look = { roots, signal };
  const known = new Map<string, Promise<Released | undefined>>();
  const releasedOf = (name: string, given?: PublishedRelease): Promise<Released | undefined> => {
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
  const historySince = async (own: Made | undefined): Promise<readonly Made['candidate'][]> => {
    if (!own) return [];
    const all = new Map<Digest, Made>();
    for (const { clusterType } of bundles) {
      const made = await (await releasedOf(clusterType.name))?.made();
      if (made && made.builtAt >= own.builtAt) all.set(made.digest, made);
    }
    // Of those of one second the channel's own counts as the oldest.
    all.delete(own.digest);
    all.set(own.digest, own);
    return [...all.values()]
      .toSorted((a, b) => (a.builtAt === b.builtAt ? 0 : a.builtAt > b.builtAt ? -1 : 1))
      .map(({ candidate }) => candidate);
  };
  const unread = new Set((platform.heldWorkloads ?? []).map(({ workspace }) => workspace));
  return async ({ clusterType, bundle, held }, previous) => {
    const before = await releasedOf(clusterType.name, previous);
    const now = new Set(bundle.config.assignments.map(({ id }) => id));
    const gone = [...(before?.packages ?? [])].filter(([id]) => !now.has(id));
    if (!before || gone.length === 0) return [];
    const history = await historySince(await before.made());
    const removals: Removal[] = [];
    const heldNames = new Set(held.map(({ assignment }) => assignment.target.name));
    const reasonOf = async (id: string, workspace: string | undefined): Promise<RemovalReason> => {
      if (heldNames.has(id) || unread.has(workspace ?? '')) return { why: 'held' };
      const to = await newPlaceOf(id, clusterType);
      return to === undefined ? explainRemoval(id, clusterType, platform, history) : { why: 'moved', to };
    };
    for (const [assignment, workspace] of gone)
      removals.push({
        ...(await reasonOf(assignment, workspace)),
        assignment,
        ...(workspace !== undefined && { workspace }),
      });
    return removals;
  };
};

type Look = { readonly roots: readonly TrustRoot[]; readonly signal: AbortSignal };

const readReleased = async (
  layout: Layout,
  channel: Channel,
  given: PublishedRelease | undefined,
  look: Look,
): Promise<Released | undefined> => {
  const release = given ?? (await readRelease(layout, channel, look.roots));
  if (!release) return undefined;
  const packages = new Map<string, string | undefined>();
  let made: Promise<Made | undefined> | undefined;
  const bundles = [...release.subjects].filter(([name]) => name.startsWith('bundle/'));
  for (const [, digest] of bundles) {
    const { config } = await readBundle(layout.blobs, digest, look.signal);
    for (const { id, workspace } of config.assignments) packages.set(id, workspace);
  }
  return {
    packages,
    made: () => (made ??= readMade(layout, channel, release.documents, look)),
  };
};

/** A renewed release has the dates of today: when its bundle was built, and of what, is in the bundle's statement. */
const readMade = async (
  layout: Layout,
  channel: Channel,
  documents: PublishedRelease['documents'],
  { roots, signal }: Look,
): Promise<Made | undefined> => {
  const what = `the statement of the last bundle of ${formatChannel(channel)}`;
  try {
    const envelopes = await statementFiles(layout.blobs, documents, 'bundle');
    const { verified } = verifyUnder(envelopes, roots, 'bundle', PREDICATES.bundle, what);
    const { candidate: named, builtAt } = parseDocument<BundlePredicate>(
      'bundle-predicate',
      verified.predicate,
      what,
    );
    const { document, digest } = await readCandidate(named, [layout.blobs], signal);
    return { digest, candidate: document, builtAt };
  } catch (error) {
    const known = toFleetError(error, `reading ${what}`);
    if (endsRun(known)) throw known;
    return undefined;
  }
};
