import type { TrustRoot } from '../trust/root.ts';

/** Signed evidence of time, but never beyond the root's own end: a stolen key cannot push the clock for ever. */
export const nextTimeFloor = (floor: Date | undefined, root: TrustRoot, issued: Date): Date =>
  new Date(Math.max(floor?.getTime() ?? 0, Math.min(issued.getTime(), root.expires.getTime())));
