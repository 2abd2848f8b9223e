import { isFleetError } from '../../errors.ts';
import { type RoleKeys, verifyEnvelope, verifyStatement } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

const STATEMENT_NAME = 'the statement accepted before';

/**
 * A floor is dropped only if the signed document that set it no longer verifies under the new root: TUF's fast-forward
 * recovery (TUF 1.0.31 section 5.3.11), without opening a rollback window when a key is only added. Signatures of
 * keys that went are left out, for the same reason: those that stayed may still be enough.
 */
export const keptUnder = (
  kept: KeptStatement | undefined,
  role: RoleKeys,
  predicateType: string,
): KeptStatement | undefined => {
  if (!kept) return undefined;
  const envelopes = kept.envelopes.filter(
    (bytes) => !isRefused(() => verifyEnvelope(bytes, role.keys, STATEMENT_NAME)),
  );
  return isRefused(() => verifyStatement(envelopes, role, predicateType, STATEMENT_NAME))
    ? undefined
    : { ...kept, envelopes };
};

const isRefused = (check: () => unknown): boolean => {
  try {
    check();
    return false;
  } catch (error) {
    if (isFleetError(error)) return true;
    throw error;
  }
};
