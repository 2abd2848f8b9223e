import type { Zone } from './zone.ts';

/** A moment, in nanoseconds since 1970, and the zone it is shown in. */
export type Moment = { readonly nanos: bigint; readonly zone: Zone };

export const SECOND = 1_000_000_000n;
