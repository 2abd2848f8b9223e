import { digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { advanceRoot, checkRootExpiry, parseRoot, type TrustRoot } from '../root/root.ts';
import { timeFloorUnder } from './time-floor-under.ts';
import type { Clock, TrustState } from './trust-state.ts';
import { trustedTime } from './trusted-time.ts';

/**
 * Step 2 of acceptance: from the stored root (or, the first time, the one whose SHA-256 was given by hand) along the
 * chain to the newest that the source carries (TUF 1.0.31 section 5.3). Intermediate roots may be expired, the last not.
 * @throws FleetError ROOT_*; as parseRoot
 */
export const acceptRoot = (state: TrustState, offered: readonly Uint8Array[], clock: Clock): TrustRoot => {
  const start = state.root ?? pinnedRoot(state, offered);
  // The source usually has the start of the chain as well: its bytes are read and verified once.
  const root = advanceRoot(
    start,
    offered.map((bytes) => (start.bytes.equals(bytes) ? start : parseRoot(bytes))),
  );
  if (root.fleet !== state.fleet) {
    throw new FleetError(
      'ROOT_FLEET',
      `the trust root is of fleet ${root.fleet}, this agent belongs to ${state.fleet}`,
    );
  }
  checkRootExpiry(root, trustedTime(clock, timeFloorUnder(state, root)));
  return root;
};

/** The root whose SHA-256 was given by hand. @throws FleetError ROOT_UNKNOWN; as parseRoot */
export const pinnedRoot = (
  state: Pick<TrustState, 'pinnedRoot'>,
  offered: readonly Uint8Array[],
): TrustRoot => {
  const found = offered.find((bytes) => digestOf(bytes) === state.pinnedRoot);
  if (found) return parseRoot(found);
  throw new FleetError(
    'ROOT_UNKNOWN',
    `${offered.length === 1 ? 'the trust root here has not' : `none of the ${offered.length} trust roots here has`} the SHA-256 given at enrolment`,
    {
      subject: state.pinnedRoot,
      hint: 'Compare the value with the one the platform team gave you; stop if they differ',
    },
  );
};
