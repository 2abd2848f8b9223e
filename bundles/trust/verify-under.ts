import { FleetError, isFleetError } from '../errors.ts';
import { type VerifiedStatement, verifyStatement } from '../statements/verify-statement.ts';
import type { TrustRoot } from './root.ts';

export type VerifiedUnder = { readonly root: TrustRoot; readonly verified: VerifiedStatement };

/**
 * A statement of this fleet's own and the newest root that vouches for it: what was signed before a rotation is still what
 * the next number follows.
 * @param roots oldest first @throws FleetError what the newest root says, where no older one vouches for it either
 */
export const verifyUnder = (
  envelopes: readonly Buffer[],
  roots: readonly TrustRoot[],
  role: 'release' | 'lease' | 'bundle',
  predicateType: string,
  what: string,
): VerifiedUnder => {
  let first: unknown;
  for (const root of roots.toReversed()) {
    try {
      return { root, verified: verifyStatement(envelopes, root.roles[role], predicateType, what) };
    } catch (error) {
      if (!isFleetError(error)) throw error;
      first ??= error;
    }
  }
  throw (
    first ??
    new FleetError('ROOT_UNKNOWN', `there is no trust root to judge ${what} by`, {
      hint: 'Put the roots of the fleet into the key directory: fleet-scheduler root install',
    })
  );
};
