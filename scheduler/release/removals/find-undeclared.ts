import { FleetError } from '#bundles/errors';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Layout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { BundleHolds, EnvironmentBuild } from '../../assemble/environment-build.ts';
import type { Hold } from '../../assemble/bundle/bundle-input.ts';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import { readLastGood } from '../../assemble/bundle/last-good-packages.ts';
import { candidateOfRelease } from '../../assemble/candidate/candidate-of-release.ts';
import { readBase } from '../../load/releases/read-base.ts';
import { type StoredRelease, readRelease } from '../../load/releases/read-release.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import type { Allowance } from '../../settings/allowance.ts';
import type { FindRemovals } from './find-removals.ts';
import { compareBundle, judgeBundle } from './judge-bundle.ts';
import { describeRemovals, nameRemovals, type Removal } from './removal.ts';

/** Both by cluster type. */
export type Undeclared = {
  /** Packages to hold, so that none is removed. */
  readonly holds: ReadonlyMap<string, BundleHolds>;
  /** The removals that were neither declared nor allowed. */
  readonly undeclared: ReadonlyMap<string, readonly Removal[]>;
};

type Options = {
  readonly layout: Layout;
  readonly roots: readonly TrustRoot[];
  readonly signal: AbortSignal;
  readonly allowance: Allowance;
  /** Of this build. */
  readonly findRemovals: FindRemovals;
};

/**
 * Finds each package that a release would remove, or take objects from, although nobody declared that: it stays as in the last release of
 * its channel, and the rest is released. A new package of a workspace in which something was replaced is held until the removal is decided,
 * because it may be the same application under another name, and both would run. A channel of which the last release cannot supply the
 * packages is left as built, so that decideRelease holds it as a whole.
 */
export const findUndeclared = async (built: EnvironmentBuild, options: Options): Promise<Undeclared> => {
  const { layout, roots, allowance, findRemovals } = options;
  const { environment } = built.platform;
  const holds = new Map<string, BundleHolds>();
  const undeclared = new Map<string, readonly Removal[]>();
  for (const bundle of built.bundles) {
    const channel = { environment, clusterType: bundle.clusterType.name };
    const newest = await readRelease(layout, channel, roots);
    const { release: previous } = await readBase(layout, channel, roots, newest, bundle.bundle.digest);
    if (!previous) continue;
    const revocations = await readRevocations(layout, roots, channel, newest);
    if (findRevoked(revocations, [bundle.bundle.digest])) continue;
    const judged = judgeBundle(await compareBundle(bundle, previous, findRemovals), allowance);
    if (judged.undeclared.length === 0) continue;
    const own = await packagesToHold(channel, { bundle, undeclared: judged.undeclared, previous }, options);
    if (!own) continue;
    holds.set(bundle.clusterType.name, own);
    undeclared.set(bundle.clusterType.name, judged.undeclared);
  }
  return { holds, undeclared };
};

type Judged = {
  readonly bundle: BuiltBundle;
  readonly undeclared: readonly Removal[];
  readonly previous: StoredRelease;
};

/** Packages to hold in one bundle; undefined if the last release cannot supply a package. */
const packagesToHold = async (
  channel: Channel,
  { bundle, undeclared, previous }: Judged,
  { layout, roots, signal }: Options,
): Promise<BundleHolds | undefined> => {
  const made = await candidateOfRelease(layout, channel, previous.documents, { roots, signal });
  const { clusterType } = bundle;
  const lastGood = await readLastGood(layout, roots, channel.environment, clusterType);
  if (!made || lastGood.bundle === undefined) return undefined;
  const { config } = await readBundle(layout.blobs, lastGood.bundle, signal);
  const known = new Map(config.assignments.map((one) => [one.id, one]));
  if (undeclared.some(({ assignment }) => !known.has(assignment))) return undefined;
  const holds = new Map<string, Hold>();
  for (const removal of undeclared) {
    const { assignment: id } = removal;
    const before = made.candidate.kept?.find(
      (one) => one.clusterType === clusterType.name && one.assignment === id,
    );
    holds.set(id, {
      error: stays(removal, clusterType.name),
      lastGood,
      declaredIn: before?.declaredIn ?? made.digest,
    });
  }
  const replaced = undeclared.filter(({ why }) => why === 'replaced' || why === 'unknown');
  const names = [
    ...bundle.bundle.config.assignments,
    ...bundle.held.map(({ assignment: { target } }) => ({ id: target.name, workspace: target.workspace })),
  ];
  for (const { id, workspace } of names) {
    const by = replaced.filter((one) => (one.workspace ?? '') === (workspace ?? ''));
    if (by.length > 0 && !known.has(id) && !holds.has(id)) holds.set(id, { error: waitingError(id, by) });
  }
  return holds;
};

const hintOf = (removals: readonly Removal[]): string =>
  `If the removal is intended: --allow-removals ${removals.map(({ assignment }) => assignment).join(',')}`;

const stays = (removal: Removal, clusterType: string): FleetError =>
  new FleetError(
    'REMOVALS_HELD',
    `the package stays as in the last release, because nobody declared its removal: ${describeRemovals([removal], clusterType).join()}`,
    { subject: removal.assignment, hint: hintOf([removal]) },
  );

const waitingError = (id: string, by: readonly Removal[]): FleetError =>
  new FleetError(
    'REMOVALS_HELD',
    `the package is new and may replace ${nameRemovals(by)}, whose removal nobody declared; both would run`,
    { subject: id, hint: hintOf(by) },
  );
