import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { canonicalJson } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { readBlob } from '#bundles/formats/layout/verified';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { VERIFICATION_PREDICATE } from '#bundles/media-types';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type OpenMedium } from '#bundles/formats/medium/medium';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { VERSION } from '#bundles/version';
import type { BlobCheck } from '../check-blobs.ts';
import type { Check } from '../check-list.ts';
import type { Verification } from '../verify-medium.ts';

import {
  BLOB_LINE,
  CHECKS_FILE,
  type CheckLine,
  CONTENTS_FILE,
  countLines,
  STATEMENT_FILE,
  type VerificationPredicate,
} from './evidence.ts';

/** A verification with all its inputs. */
export type Verified = {
  readonly open: OpenMedium;
  readonly verification: Verification;
  readonly blobs: readonly BlobCheck[];
  /** Documents that the verification read. */
  readonly opened: ReadonlySet<Digest>;
  readonly pinned: Digest | undefined;
  readonly now: Date;
  readonly partial: boolean;
};

export type WrittenEvidence = { readonly folder: string; readonly lines: number; readonly statement: Digest };

/** Size limit of kept documents, manifests and configs; no larger one is read for the judgement. */
const MAX_KEPT_BYTES = 64 << 20;

/**
 * Requires a new or empty folder, before a verification that may take hours.
 * @throws FleetError USAGE
 */
export const checkEvidenceFolder = async (folder: string): Promise<void> => {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw toFleetError(error, `opening ${folder}`);
  });
  if (entries.length === 0) return;
  throw new FleetError('USAGE', `${folder} is not empty`, {
    hint: 'Evidence is of one medium at one time; give a new folder',
  });
};

/**
 * The checks line by line, the bytes that they follow from, and a signature over both (docs/bundle-format.md section 17).
 * The signature is written last: a folder without it is incomplete and is refused.
 */
export const writeEvidence = async (
  folder: string,
  verified: Verified,
  key: SigningKey,
  signal?: AbortSignal,
): Promise<WrittenEvidence> => {
  const { open, verification, blobs, opened } = verified;
  const checks = verification.checks.map(toLine);
  const blobLines = blobs.map(toBlobLine);
  const lines = [...checks, ...blobLines];
  const contents = await open.readFile(MEDIUM_FILE, MAX_MEDIUM_BYTES);
  const text = Buffer.from(lines.map((line) => `${canonicalJson(line)}\n`).join(''));
  const statement = await signPayload(
    encodeStatement(
      [
        { name: 'checks', digest: digestOf(text) },
        { name: 'medium', digest: digestOf(contents) },
      ],
      VERIFICATION_PREDICATE,
      predicateOf(verified, checks, blobLines),
    ),
    key,
  );
  await keepOpened(folder, open, opened, signal);
  await writeFileAtomically(join(folder, CHECKS_FILE), text);
  await writeFileAtomically(join(folder, CONTENTS_FILE), contents);
  await writeFileAtomically(join(folder, STATEMENT_FILE), statement);
  return { folder, lines: lines.length, statement: digestOf(statement) };
};

const predicateOf = (
  { open, verification, blobs, pinned, now, partial }: Verified,
  checks: readonly CheckLine[],
  blobLines: readonly CheckLine[],
): VerificationPredicate => {
  const { medium, form, parts } = open;
  return defined({
    fleet: medium?.fleet,
    root: verification.root ?? null,
    pinned: pinned || undefined,
    anchored: verification.anchored,
    result: verification.ok ? 'passed' : 'refused',
    checks: countLines(checks),
    blobs: { ...countLines(blobLines), bytes: blobs.reduce((sum, { size }) => sum + size, 0) },
    form,
    parts: parts ? { set: parts.set, count: parts.count, missing: parts.missing, partial } : undefined,
    time: formatTime(now),
    program: `fleet-export ${VERSION}`,
  });
};

const toLine = ({ at, what, ok, digests, keys, code, message }: Check): CheckLine =>
  defined({
    at,
    what,
    result: ok ? 'passed' : 'refused',
    digests,
    keys,
    message,
    code: code || undefined,
  });

const toBlobLine = ({ at, digest, size, code, message }: BlobCheck): CheckLine =>
  defined({
    at,
    what: BLOB_LINE,
    result: code ? 'refused' : 'passed',
    digests: [digest],
    keys: [],
    size,
    code: code || undefined,
    message,
  });

/** Unreadable documents are left out: the line of the refusal names them. */
const keepOpened = async (
  folder: string,
  { blobs }: OpenMedium,
  opened: ReadonlySet<Digest>,
  signal?: AbortSignal,
): Promise<void> => {
  const kept = openBlobDirectory(folder);
  for (const digest of opened) {
    try {
      const bytes = await readBlob(blobs, digest, MAX_KEPT_BYTES, signal);
      await kept.write(digest, bytes.byteLength, bytes, signal);
    } catch (error) {
      if (!isFleetError(error) || error.exitCode === 1 || error.exitCode === 6) throw error;
    }
  }
};
