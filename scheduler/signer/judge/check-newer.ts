import { FleetError } from '#bundles/errors';
import type { SignedVersion } from '../open-state.ts';

/** Numbers that one request may skip: an interrupted build wastes one. Whoever stole the socket cannot use them up. */
const MAX_JUMP = 100;
/** A line that the signer has never seen may have begun long before it. */
const MAX_FIRST = 1_000_000;

/**
 * Only forward, and each number for one content. The same again is the same request again, whose answer was lost.
 * @param known the newest signed first
 * @param proven a version before this one that the request has shown; undefined: none
 * @throws FleetError NOT_NEWER, SIGNER_REFUSED
 */
export const checkNewer = (
  known: readonly SignedVersion[],
  { version, payload }: SignedVersion,
  what: string,
  proven?: number,
): 'newer' | 'again' => {
  const [last] = known;
  const same = known.find((one) => one.version === version);
  if (same?.payload === payload) return 'again';
  if (last && version <= last.version) {
    throw new FleetError(
      'NOT_NEWER',
      same
        ? `${what} was signed already, with other content`
        : `${what} is not newer: ${last.version} was signed already`,
      { hint: 'If this comes again and again, what asks works with an old copy of its layout or database' },
    );
  }
  const from = last?.version ?? proven;
  if (version > (from === undefined ? MAX_FIRST : from + MAX_JUMP)) {
    throw new FleetError('SIGNER_REFUSED', `${what} jumps: the last one was ${from ?? 'none'}`, {
      hint: `At most ${MAX_JUMP} numbers are skipped, so that nobody can use them up`,
    });
  }
  return 'newer';
};
