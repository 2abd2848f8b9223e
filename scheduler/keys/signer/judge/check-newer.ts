import { FleetError } from '#bundles/errors';
import type { SignedVersion } from '../state/open-state.ts';

/** Versions that one request may skip: an interrupted build wastes one. Bounded, so that an attacker cannot use them up. */
const MAX_JUMP = 100;
/** Bound for the first version of a line, which may have begun long before this signer. */
const MAX_FIRST = 1_000_000;

/**
 * Checks that versions only increase and that each is signed for one content only. An identical request is allowed again,
 * because its response may have been lost.
 * @param known signed versions, newest first
 * @param proven the version of the predecessor that the request has proven; undefined: none
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
      { hint: 'If this repeats, the requesting program works with an old copy of its layout or database' },
    );
  }
  const from = last?.version ?? proven;
  if (version > (from === undefined ? MAX_FIRST : from + MAX_JUMP)) {
    throw new FleetError('SIGNER_REFUSED', `${what} jumps: the last one was ${from ?? 'none'}`, {
      hint: `At most ${MAX_JUMP} numbers may be skipped, so that they cannot be used up`,
    });
  }
  return 'newer';
};
