import type { Digest } from '../digest.ts';
import type { CandidateSource } from './statements/predicates.ts';

/** Bytes of a candidate: enough for a fleet with thousands of applications. Readers and writers keep to it. */
export const MAX_CANDIDATE_BYTES = 64 << 20;

/** Content-addressed lock of all inputs of a release; promotion refers to its digest (docs/candidates.md). */
export type Candidate = {
  readonly fleet: string;
  readonly environment?: string;
  /** The candidate that it was promoted from; only the layer of the environment differs. */
  readonly parent?: Digest;
  readonly sources: readonly CandidateSource[];
  readonly images: readonly { readonly name: string; readonly digest: Digest }[];
  readonly charts: readonly { readonly name: string; readonly version?: string; readonly digest: Digest }[];
  /** Files that hosts' packages name by address. */
  readonly files?: readonly { readonly name: string; readonly digest: Digest }[];
  /** Programs whose version affects the bytes of the output. */
  readonly tools?: readonly { readonly name: string; readonly version: string }[];
  /** Bundles of earlier releases whose packages replaced held assignments. */
  readonly kept?: readonly {
    readonly clusterType: string;
    readonly bundle: Digest;
    /** The one assignment that a person took back to it, or that is kept from removal; absent: those that could not be built. */
    readonly assignment?: string;
    /** Of an assignment that is kept from removal: the candidate that declares its target. */
    readonly declaredIn?: Digest;
  }[];
  /** Names that assignments depend on, by the file or application that declares them; absent in candidates of older versions. */
  readonly declared?: readonly Declared[];
};

/** The names that one file, or one application's folder, declares. */
export type Declared = {
  /** Path of the file; `<role>:<path>` in Kalypso's form; `workload/<registration>` for an application's folder. */
  readonly in: string;
  readonly registrations?: readonly string[];
  /** Deployment targets of the environment. */
  readonly targets?: readonly string[];
  readonly policies?: readonly DeclaredPolicy[];
};

export type DeclaredPolicy = {
  readonly name: string;
  readonly workspace: string;
  readonly targets: DeclaredSelector;
  readonly clusterTypes: DeclaredSelector;
};

type DeclaredSelector = {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values: readonly string[];
  }[];
};
