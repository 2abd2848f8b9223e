import type { Digest } from './digest.ts';
import type { CandidateSource } from './statements/predicates.ts';

/** Content-addressed lock of everything a release was made from; its digest is what is promoted (docs/bundle-format.md section 6). */
export type Candidate = {
  readonly fleet: string;
  readonly sources: readonly CandidateSource[];
  readonly images: readonly { readonly name: string; readonly digest: Digest }[];
  readonly charts: readonly { readonly name: string; readonly digest: Digest }[];
};
