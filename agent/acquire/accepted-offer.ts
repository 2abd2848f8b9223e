import type { Judged } from './accept-offer.ts';
import type { BroughtImages } from './bring-surveyed.ts';
import type { Wanted } from './desired-packages.ts';

/** An offer that was judged and whose blobs are where they belong: all that is left is to say yes. */
export type AcceptedOffer = Judged & Wanted & { readonly images: BroughtImages };
