import { PREDICATES } from '../../media-types.ts';
import { parseTime } from '../../time.ts';
import type { TrustRoot } from '../root/root.ts';
import { keptPredicate } from './kept-predicate.ts';
import { keptUnder } from './kept-under.ts';
import type { TrustState } from './trust-state.ts';

/**
 * The time floor as far as this root still supports it. Like a version it falls with the statement that set it
 * (docs/bundle-format.md section 8, step 3): a stolen key could otherwise date a release years ahead and leave every
 * later one expired. The latest time of the statements that are still valid remains.
 */
export const timeFloorUnder = (state: TrustState, root: TrustRoot): Date | undefined => {
  const floor = state.time;
  if (!floor) return undefined;
  const statements = [
    { kept: state.siteStatement, type: PREDICATES.site, role: root.roles.release },
    { kept: state.release, type: PREDICATES.release, role: root.roles.release },
    ...(state.leases ?? []).map((kept) => ({ kept, type: PREDICATES.lease, role: root.roles.lease })),
  ].flatMap(({ kept, type, role }) => (kept ? [{ kept, type, role }] : []));
  const times = statements.map(({ kept, type, role }) => ({
    issued: parseTime((keptPredicate(kept) as { readonly issuedAt: string }).issuedAt),
    stands: keptUnder(kept, role, type) !== undefined,
  }));
  // The floor is capped at the expiry of a root, the time of a statement is not: hence >=.
  if (!times.some(({ issued, stands }) => !stands && issued >= floor)) return floor;
  const standing = times.filter(({ stands }) => stands).map(({ issued }) => issued.getTime());
  return standing.length === 0 ? undefined : new Date(Math.min(floor.getTime(), Math.max(...standing)));
};
