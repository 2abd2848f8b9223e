import type { Zone } from './zone.ts';

/** Nanoseconds since 1970, and the zone in which the moment is shown. */
export type Moment = { readonly nanos: bigint; readonly zone: Zone };

export const SECOND = 1_000_000_000n;
