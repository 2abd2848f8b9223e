import { FleetError, isFleetError } from '../../errors.ts';
import { type VerifiedStatement, verifyStatement } from '../statements/verify-statement.ts';
import type { TrustRoot } from './root.ts';

export type VerifiedUnder = { readonly root: TrustRoot; readonly verified: VerifiedStatement };

/**
 * Verifies a statement of this fleet under the newest root whose keys signed it: version numbers continue after a rotation from
 * statements signed before it.
 * @param roots oldest first
 * @throws FleetError ROOT_UNKNOWN without roots; otherwise the error under the newest root, when it verifies under no root
 */
export const verifyUnder = (
  envelopes: readonly Buffer[],
  roots: readonly TrustRoot[],
  role: 'release' | 'lease' | 'bundle',
  predicateType: string,
  what: string,
): VerifiedUnder =>
  underNewest(roots, what, (root) => ({
    root,
    verified: verifyStatement(envelopes, root.roles[role], predicateType, what),
  }));

/**
 * The result under the newest root that `verify` accepts. @param roots oldest first
 * @throws FleetError ROOT_UNKNOWN without roots; otherwise the error under the newest root, when it verifies under no root
 */
export const underNewest = <T>(
  roots: readonly TrustRoot[],
  what: string,
  verify: (root: TrustRoot) => T,
): T => {
  let first: unknown;
  for (const root of roots.toReversed()) {
    try {
      return verify(root);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      first ??= error;
    }
  }
  throw (
    first ??
    new FleetError('ROOT_UNKNOWN', `there is no trust root to verify ${what} with`, {
      hint: 'Put the roots of the fleet into the key directory: fleet-scheduler root install',
    })
  );
};
