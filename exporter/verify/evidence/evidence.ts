import type { VerificationCheck as CheckLine } from '#bundles/schemas/types/verification-check';
import type { VerificationPredicate } from '#bundles/schemas/types/verification-predicate';

/** Files of a folder of evidence (docs/bundle-format.md section 17); the documents and manifests that the judgement used are in blobs/sha256. */
export const CHECKS_FILE = 'checks.ndjson';
export const CONTENTS_FILE = 'medium.json';
/** Written last: without it the folder is not finished. */
export const STATEMENT_FILE = 'verification.sigstore.json';

/** `what` of lines about one blob. */
export const BLOB_LINE = 'blob';

/** One line of checks.ndjson. */
export type { VerificationCheck as CheckLine } from '#bundles/schemas/types/verification-check';

/** `what` of the only line about a medium that could not be opened. */
export const OPEN_LINE = 'open';

/** The signed statement: its subjects are `checks` (checks.ndjson) and, if it could be read, `medium` (fleet/medium.json). */
export type { VerificationPredicate } from '#bundles/schemas/types/verification-predicate';

type Count = VerificationPredicate['checks'];

export const countLines = (lines: readonly CheckLine[]): Count => {
  const passed = lines.filter(({ result }) => result === 'passed').length;
  return { passed, refused: lines.length - passed };
};
