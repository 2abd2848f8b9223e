import type { TrustRoot } from '../root/root.ts';

/** Raises the time floor to a signed time, at most to the expiry of the root: a stolen key cannot move it further. */
export const nextTimeFloor = (floor: Date | undefined, root: TrustRoot, issued: Date): Date =>
  new Date(Math.max(floor?.getTime() ?? 0, Math.min(issued.getTime(), root.expires.getTime())));
