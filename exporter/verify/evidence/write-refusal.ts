import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { canonicalJson } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { type FleetError, formatError, isFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { VERIFICATION_PREDICATE } from '#bundles/media-types';
import { findParts } from '#bundles/formats/medium/parts/find-parts';
import { isFolder } from '#bundles/formats/medium/plain-files';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { VERSION } from '#bundles/version';
import { digestsOfMedia } from './digests-of-media.ts';
import {
  CHECKS_FILE,
  type CheckLine,
  OPEN_LINE,
  STATEMENT_FILE,
  type VerificationPredicate,
} from './evidence.ts';
import type { WrittenEvidence } from './write-evidence.ts';

/** The medium that could not be opened, the reason, and the time. */
export type UnopenedMedium = {
  readonly media: readonly string[];
  readonly error: FleetError;
  readonly pinned: Digest | undefined;
  readonly now: Date;
};

/** Errors that are about the medium. Others are about the run: a missing path, a bad key file, a failing disk. */
export const isRefusal = (error: unknown): error is FleetError =>
  isFleetError(error) &&
  [3, 4, 5].includes(error.exitCode) &&
  !NOT_THE_MEDIUM.some((code) => isFleetError(error, code));

/** As the schema of a line has it. */
const MAX_MESSAGE = 4096;

const NOT_THE_MEDIUM = ['MEDIUM_MISSING', 'KEY_MISSING', 'KEY_FORMAT'] as const;

/**
 * Writes evidence of a medium that could not be opened: one line with the reason and the digests of its files, and the signature.
 */
export const writeRefusal = async (
  folder: string,
  { media, error, pinned, now }: UnopenedMedium,
  key: SigningKey,
  signal?: AbortSignal,
): Promise<WrittenEvidence> => {
  const time = formatTime(now);
  const line: CheckLine = {
    at: time,
    what: OPEN_LINE,
    result: 'refused',
    digests: await digestsOfMedia(media, signal),
    keys: [],
    code: error.code,
    message: formatError(error).slice(0, MAX_MESSAGE),
  };
  const text = Buffer.from(`${canonicalJson(line)}\n`);
  const predicate: VerificationPredicate = defined({
    root: null,
    pinned: pinned || undefined,
    anchored: false,
    result: 'refused',
    checks: { passed: 0, refused: 1 },
    blobs: { passed: 0, refused: 0, bytes: 0 },
    form: await formOf(media),
    time,
    program: `fleet-export ${VERSION}`,
  });
  const subjects = [{ name: 'checks', digest: digestOf(text) }];
  const statement = await signPayload(encodeStatement(subjects, VERIFICATION_PREDICATE, predicate), key);
  await writeFileAtomically(join(folder, CHECKS_FILE), text);
  await writeFileAtomically(join(folder, STATEMENT_FILE), statement);
  return { folder, lines: 1, statement: digestOf(statement) };
};

const formOf = async (media: readonly string[]): Promise<VerificationPredicate['form']> => {
  const [path = ''] = media;
  if (!(await isFolder(path))) return 'tar';
  return (await findParts(path).catch(() => undefined)) ? 'parts' : 'directory';
};
