import type { Candidate } from '#bundles/formats/candidate';
import type { Digest } from '#bundles/digest';

/** A candidate that is built, with its digest. */
export type GivenCandidate = { readonly document: Candidate; readonly digest: Digest };

/**
 * True if the build re-creates the candidate for its own environment. Another environment adds its layer and gets a candidate
 * of its own.
 */
export const isOwn = ({ document }: GivenCandidate, environment: string): boolean =>
  document.environment === undefined || document.environment === environment;
