import { keptUnder } from '#bundles/accept/kept-under';
import { PREDICATES } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root';
import type { State } from '../store/state.ts';
import { deleteLease, readLeases } from '../store/trust.ts';

/** Leases whose key this root no longer names set no floor any more, of versions nor of time (section 8, step 3). */
export const forgetFallenLeases = (state: State, root: TrustRoot): void => {
  for (const { scope, it } of readLeases(state)) {
    if (!keptUnder(it, root.roles.lease, PREDICATES.lease)) deleteLease(state, scope);
  }
};
