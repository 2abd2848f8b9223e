import type { Candidate } from '#bundles/formats/candidate';
import type { Digest } from '#bundles/digest';

/** A candidate that a build is made from, and the digest that names it. */
export type GivenCandidate = { readonly document: Candidate; readonly digest: Digest };

/** Re-created is what it was made for; any other environment adds its own layer and gets a candidate of its own. */
export const isOwn = ({ document }: GivenCandidate, environment: string): boolean =>
  document.environment === undefined || document.environment === environment;
