import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';

/** Files of a folder of evidence (docs/bundle-format.md section 17); the documents and manifests that the judgement used are in blobs/sha256. */
export const CHECKS_FILE = 'checks.ndjson';
export const CONTENTS_FILE = 'medium.json';
/** Written last: without it the folder is not finished. */
export const STATEMENT_FILE = 'verification.sigstore.json';

/** `what` of lines about one blob. */
export const BLOB_LINE = 'blob';

/** One line of checks.ndjson. */
export type CheckLine = {
  readonly at: Timestamp;
  readonly what: string;
  readonly result: 'passed' | 'refused';
  readonly digests: readonly Digest[];
  /** Fingerprints. */
  readonly keys: readonly string[];
  readonly size?: number;
  readonly code?: string;
  readonly message?: string;
};

type Count = { readonly passed: number; readonly refused: number };

/** `what` of the only line about a medium that could not be opened. */
export const OPEN_LINE = 'open';

/** The signed statement: its subjects are `checks` (checks.ndjson) and, if it could be read, `medium` (fleet/medium.json). */
export type VerificationPredicate = {
  readonly fleet?: string;
  readonly root: { readonly version: number; readonly digest: Digest } | null;
  readonly pinned?: Digest;
  readonly anchored: boolean;
  readonly result: 'passed' | 'refused';
  readonly checks: Count;
  readonly blobs: Count & { readonly bytes: number };
  readonly form: 'directory' | 'tar' | 'parts';
  readonly parts?: {
    readonly set: Digest;
    readonly count: number;
    readonly missing: readonly number[];
    readonly partial: boolean;
  };
  readonly time: Timestamp;
  readonly program: string;
};

export const countLines = (lines: readonly CheckLine[]): Count => {
  const passed = lines.filter(({ result }) => result === 'passed').length;
  return { passed, refused: lines.length - passed };
};
