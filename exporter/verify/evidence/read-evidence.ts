import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { VERIFICATION_PREDICATE } from '#bundles/media-types';
import { MAX_MEDIUM_BYTES, type Medium, parseMedium } from '#bundles/formats/medium/medium';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { PublicKey } from '#bundles/trust/keys/key';
import { parseAs } from '#bundles/json/parse-as';
import { VERIFICATION_CHECK, VERIFICATION_PREDICATE as VERIFICATION } from '#bundles/json/schema/validators';
import {
  BLOB_LINE,
  CHECKS_FILE,
  type CheckLine,
  CONTENTS_FILE,
  STATEMENT_FILE,
  type VerificationPredicate,
} from './evidence.ts';

/** A folder of evidence as read, unverified. */
export type EvidenceFolder = {
  readonly folder: string;
  readonly statement: Buffer;
  readonly checks: Buffer;
  /** undefined if the medium could not be opened. */
  readonly contents: Buffer | undefined;
  readonly medium: Medium | undefined;
  readonly blobs: BlobSource;
};

/** The statement of the signer, with its signature and the files verified. */
export type Evidence = {
  readonly predicate: VerificationPredicate;
  /** Fingerprint of the key that signed. */
  readonly signer: string;
  /** Lines that are not about a blob. */
  readonly lines: readonly CheckLine[];
  readonly blobLines: readonly CheckLine[];
  /** undefined: the medium could not be opened. */
  readonly mediumDigest: Digest | undefined;
};

/** Upper bound on checks.ndjson; a hundred thousand blobs are 30 MB of lines. */
const MAX_CHECKS_BYTES = 256 << 20;
const MAX_LINE_BYTES = 16 << 10;

/** @throws FleetError MEDIUM_MISSING, TOO_LARGE; as parseMedium */
export const openEvidence = async (folder: string): Promise<EvidenceFolder> => {
  const statement = await read(folder, STATEMENT_FILE, MAX_STATEMENT_BYTES);
  const checks = await read(folder, CHECKS_FILE, MAX_CHECKS_BYTES);
  const contents = (await exists(join(folder, CONTENTS_FILE)))
    ? await read(folder, CONTENTS_FILE, MAX_MEDIUM_BYTES)
    : undefined;
  const blobs = openBlobDirectory(folder, `evidence ${folder}`);
  return { folder, statement, checks, contents, medium: contents && parseMedium(contents), blobs };
};

/** @throws FleetError EVIDENCE_INVALID, SCHEMA; as verifyStatement */
export const verifyEvidence = (
  { folder, statement, checks, contents }: EvidenceFolder,
  keys: readonly PublicKey[],
): Evidence => {
  const what = `the verification in ${folder}`;
  const verified = verifyStatement([statement], { keys, threshold: 1 }, VERIFICATION_PREDICATE, what);
  const subject = (name: string): Digest | undefined =>
    verified.subjects.find((it) => it.name === name)?.digest;
  for (const [name, file, bytes] of [
    ['checks', CHECKS_FILE, checks],
    ['medium', CONTENTS_FILE, contents],
  ] as const) {
    if (subject(name) === (bytes && digestOf(bytes))) continue;
    throw new FleetError('EVIDENCE_INVALID', `${join(folder, file)} was changed after it was signed`);
  }
  const lines = linesOf(checks, join(folder, CHECKS_FILE));
  return {
    signer: Buffer.from(verified.signers[0] ?? '', 'base64').toString('hex'),
    predicate: parseAs(VERIFICATION, verified.predicate, what),
    lines: lines.filter((line) => line.what !== BLOB_LINE),
    blobLines: lines.filter((line) => line.what === BLOB_LINE),
    mediumDigest: contents && digestOf(contents),
  };
};

const linesOf = (bytes: Buffer, file: string): readonly CheckLine[] => {
  const text = bytes.toString('utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line, index) => {
      const what = `${file}:${index + 1}`;
      return parseAs(
        VERIFICATION_CHECK,
        parseStrictJson(Buffer.from(line), { maxBytes: MAX_LINE_BYTES }, what),
        what,
      );
    });
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );

const read = async (folder: string, name: string, maxBytes: number): Promise<Buffer> => {
  const file = join(folder, name);
  try {
    const found = await stat(file);
    if (!found.isFile()) throw new FleetError('EVIDENCE_INVALID', `${file} is not a file`);
    if (found.size > maxBytes)
      throw new FleetError('TOO_LARGE', `${file} has ${found.size} bytes, at most ${maxBytes} are read`);
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw toFleetError(error, `reading ${file}`);
    throw new FleetError('MEDIUM_MISSING', `${folder} is not finished evidence: ${name} is missing`, {
      hint: 'fleet-export verify --evidence writes it; run an interrupted one again',
    });
  }
};
