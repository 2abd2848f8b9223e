import { isFleetError } from '../../errors.ts';
import type { TrustRoot } from '../../trust/root/root.ts';

/**
 * Reads a statement under the newest root that it verifies under: after a rotation, numbering continues from statements that
 * the earlier root signed.
 * @param roots oldest first, at least one
 * @param read verifies under one root
 * @throws the error of `read` under the newest root, when it fails under all; at once ABORTED and any error that is worth
 *   another try, since such an error says nothing about the signature
 */
export const underNewestRoot = async <T>(
  roots: readonly TrustRoot[],
  read: (root: TrustRoot) => Promise<T>,
): Promise<{ readonly value: T; readonly root: TrustRoot }> => {
  let first: unknown;
  for (const root of roots.toReversed()) {
    try {
      return { value: await read(root), root };
    } catch (error) {
      if (!isFleetError(error) || error.retryable || error.code === 'ABORTED') throw error;
      first ??= error;
    }
  }
  throw first;
};
