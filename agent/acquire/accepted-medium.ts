import type { Judged } from './accept-medium.ts';
import type { Wanted } from './desired-packages.ts';

/** A medium that was judged and whose blobs are in the store: all that is left is to say yes. */
export type AcceptedMedium = Judged & Wanted;
