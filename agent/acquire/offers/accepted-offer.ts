import type { Judged } from './accept-offer.ts';
import type { FetchedImages } from '../blobs/fetch-surveyed.ts';
import type { Wanted } from './desired-packages.ts';

/** An offer that was judged and whose blobs are in place; only the accepting transaction is left. */
export type AcceptedOffer = Judged & Wanted & { readonly images: FetchedImages };
