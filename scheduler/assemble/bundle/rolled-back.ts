import type { Candidate } from '#bundles/formats/candidate';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type AssignmentRollback, rolledBackError } from '../../load/releases/assignment-rollbacks.ts';
import type { ClusterType } from '../../model/model.ts';
import type { RolledBack } from './bundle-input.ts';
import { readLastGood } from './last-good-packages.ts';

/** The rollbacks in force, and the layout with the bundles that they name. */
export type RollbackPlace = {
  readonly layout: Layout;
  readonly roots: readonly TrustRoot[];
  readonly inForce: readonly AssignmentRollback[];
};

/**
 * The assignments of a cluster type that people rolled back, by name.
 * @param again a candidate that is built again, with the rollbacks recorded in it instead of those in force now
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH for a missing or damaged bundle of a rollback
 */
export const readRolledBack = async (
  place: RollbackPlace | undefined,
  environment: string,
  clusterType: ClusterType,
  again: Candidate | undefined,
): Promise<ReadonlyMap<string, RolledBack>> => {
  if (!place) return new Map();
  const { layout, roots, inForce } = place;
  const wanted = again
    ? (again.kept ?? []).flatMap(({ assignment, bundle, declaredIn, ...of }) =>
        assignment === undefined || declaredIn !== undefined || of.clusterType !== clusterType.name
          ? []
          : [{ assignment, bundle, instead: undefined, error: keptBefore(assignment, bundle) }],
      )
    : inForce
        .filter((one) => one.clusterType === clusterType.name)
        .map((one) => ({
          ...one,
          instead: one.untilPromoted ? undefined : one.instead,
          error: rolledBackError(one),
        }));
  const found = new Map<string, RolledBack>();
  for (const { assignment, bundle, instead, error } of wanted) {
    const lastGood = await readLastGood(layout, roots, environment, clusterType, bundle);
    found.set(assignment, { lastGood, instead, error });
  }
  return found;
};

const keptBefore = (assignment: string, bundle: AssignmentRollback['bundle']): FleetError =>
  new FleetError(
    'ROLLED_BACK',
    `${assignment} is as in bundle ${shortDigest(bundle)}: the candidate was built with that rollback`,
    { subject: assignment },
  );
