import { isFleetError } from '../errors.ts';
import { type RoleKeys, verifyStatement } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

/**
 * A floor is dropped only if the signed document that set it no longer verifies under the new root: TUF's fast-forward
 * recovery (TUF 1.0.31 section 5.3.11), without opening a rollback window whenever a key is merely added.
 */
export const keptUnder = (
  kept: KeptStatement | undefined,
  role: RoleKeys,
  predicateType: string,
): KeptStatement | undefined => {
  if (!kept) return undefined;
  try {
    verifyStatement(kept.envelopes, role, predicateType, 'the statement accepted before');
    return kept;
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
