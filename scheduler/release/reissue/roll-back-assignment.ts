import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { type Channel, formatChannel } from '#bundles/names';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import {
  type AssignmentRollback,
  formatAssignment,
  rollbacksIn,
} from '../../load/releases/assignment-rollbacks.ts';
import { readAuditLog } from '../../load/releases/audit-log.ts';
import { checkRelease } from '../../load/releases/check-promoted.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import { decide } from '../audit/decide.ts';
import type { Releases } from '../write/open-releases.ts';
import { findRelease, readCurrent } from './rollback-release.ts';

export type AssignmentDecision = {
  readonly channel: Channel;
  readonly assignment: string;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
};

/** 'unchanged': the same decision is in force already, and nothing was written. */
export type AssignmentDecided = { readonly outcome: 'decided' | 'unchanged' };

/**
 * Decides that one assignment of a channel goes back to the package that an earlier release had. The next build of the channel
 * releases it, with the other assignments as they are. Durable when this returns.
 * @param to number of the release
 * @throws FleetError USAGE for an assignment that one of the releases does not have, or whose package is the same;
 *   CHANNEL_MISSING, RELEASE_MISSING, REVOKED, NOT_PROMOTED, MISSING_BLOB; the codes of appendEntry
 */
export const rollBackAssignment = async (
  releases: Releases,
  keys: KeyDirectory,
  { to, ...request }: AssignmentDecision & { readonly to: number },
): Promise<AssignmentDecided> => {
  const { channel, assignment, now } = request;
  const layout = await releases.open();
  const current = await readCurrent(layout, keys, channel, now);
  const from = await findRelease(layout, keys, channel, to);
  await checkRelease(layout, channel, from, keys.roots);
  const back = await findPackage(layout, from, request);
  const revocations = await readRevocations(layout, keys.roots, channel, current);
  const revoked = findRevoked(revocations, [back.bundle]);
  if (revoked)
    throw new FleetError(
      'REVOKED',
      `the bundle of release ${to} was revoked at ${revoked.at}: ${revoked.reason}`,
    );
  const before = await inForce(layout, keys, request);
  if (before?.package === back.package.package) return { outcome: 'unchanged' };
  const runs = (await findPackage(layout, current, request)).package.package;
  if (runs === back.package.package)
    throw new FleetError('USAGE', `${assignment} has the same package in release ${to} as now`, {
      subject: formatAssignment(channel, assignment),
      hint: 'Name an older release; fleet-scheduler history shows when the assignment changed',
    });
  const taken = {
    bundle: back.bundle,
    package: back.package.package,
    // After a second rollback of the same content: the package that the build makes, and not the one that the first rollback put
    // in its place.
    instead: before?.instead ?? runs,
  };
  await decide(releases, keys, {
    ...decisionOf(request),
    decision: 'roll-back',
    rollback: { release: to, taken },
  });
  return { outcome: 'decided' };
};

/** Ends the rollback of an assignment: the next build releases it as it is built. @throws FleetError the codes of appendEntry */
export const resumeAssignment = async (
  releases: Releases,
  keys: KeyDirectory,
  request: AssignmentDecision,
): Promise<AssignmentDecided> => {
  if (!(await inForce(await releases.open(), keys, request))) return { outcome: 'unchanged' };
  await decide(releases, keys, { ...decisionOf(request), decision: 'resume' });
  return { outcome: 'decided' };
};

const decisionOf = ({ channel, assignment, person, reason, now }: AssignmentDecision) => ({
  environment: channel.environment,
  only: formatAssignment(channel, assignment),
  person,
  reason,
  now,
});

const inForce = async (
  layout: Layout,
  { roots }: KeyDirectory,
  { channel, assignment }: Pick<AssignmentDecision, 'channel' | 'assignment'>,
): Promise<AssignmentRollback | undefined> =>
  rollbacksIn((await readAuditLog(layout, roots)).entries, channel.environment).find(
    (one) => one.clusterType === channel.clusterType && one.assignment === assignment,
  );

/** @throws FleetError USAGE if the release has no such assignment; MISSING_BLOB */
const findPackage = async (
  layout: Layout,
  release: StoredRelease,
  { channel, assignment }: Pick<AssignmentDecision, 'channel' | 'assignment'>,
): Promise<{ readonly bundle: Digest; readonly package: BundleAssignment }> => {
  const known: string[] = [];
  for (const bundle of bundlesOf(release)) {
    const { config } = await readBundle(layout.blobs, bundle);
    const found = config.assignments.find(({ id }) => id === assignment);
    if (found) return { bundle, package: found };
    known.push(...config.assignments.map(({ id }) => id));
  }
  const name = formatChannel(channel);
  throw new FleetError('USAGE', `release ${release.predicate.version} has no assignment ${assignment}`, {
    subject: name,
    hint: `${didYouMean(assignment, known) ?? ''}It has ${nameSome(known)}`,
  });
};
