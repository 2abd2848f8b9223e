import type { Candidate } from '../schemas/types/candidate.ts';

/** Bytes of a candidate: enough for a fleet with thousands of applications. Readers and writers keep to it. */
export const MAX_CANDIDATE_BYTES = 64 << 20;

/** Content-addressed lock of all inputs of a release; promotion refers to its digest (docs/candidates.md). */
export type { Candidate } from '../schemas/types/candidate.ts';

/** The names that one file, or one application's folder, declares. */
export type Declared = NonNullable<Candidate['declared']>[number];

export type DeclaredPolicy = NonNullable<Declared['policies']>[number];
