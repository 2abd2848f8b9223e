import type { FleetError } from '#bundles/errors';
import type { Candidate } from '#bundles/formats/candidate';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import type { Platform } from '../model/model.ts';
import type { BundleInput } from './bundle/bundle-input.ts';
import type { BuiltBundle } from './bundle/built-bundle.ts';

/** One environment as it was built: nothing is signed yet. */
export type EnvironmentBuild = {
  readonly platform: Platform;
  readonly bundles: readonly BuiltBundle[];
  readonly candidate: Candidate;
  readonly sources: readonly CandidateSource[];
  readonly advice: readonly FleetError[];
};

/** Packages to hold, by their names. */
export type BundleHolds = NonNullable<BundleInput['holds']>;
