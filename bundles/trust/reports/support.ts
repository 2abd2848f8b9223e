import { compareBytes, type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { readTar } from '../../formats/archive/read-tar.ts';
import { writeTar } from '../../formats/archive/write-tar.ts';
import { MAX_STATEMENT_BYTES } from '../../formats/statements/envelope.ts';
import type { SupportPredicate } from '../../formats/statements/predicates.ts';
import { parseAs } from '../../json/parse-as.ts';
import { SUPPORT_PREDICATE } from '../../json/schema/validators.js';
import { PREDICATES } from '../../media-types.ts';
import type { PublicKey, SigningKey } from '../keys/key.ts';
import { signPayload } from '../statements/sign-payload.ts';
import { checkedPayload } from '../statements/checked-payload.ts';
import { verifyStatement } from '../statements/verify-statement.ts';
import { checkTimes } from './report.ts';

/** A file of a support bundle: its path is as on media, its content UTF-8 text. */
export type SupportFile = { readonly path: string; readonly bytes: Buffer };

/** Of the whole tar: two minutes at 64 kbit/s. */
export const MAX_SUPPORT_BYTES = 1 << 20;
const MAX_FILES = 256;
/** The first entry of the tar. */
const STATEMENT = 'support.sigstore.json';

/**
 * Writes a support bundle: one tar with the agent's signature and the files that it names, sorted (docs/bundle-format.md section 19).
 * The same files give the same tar, but for the signature.
 * @throws FleetError TOO_LARGE, BAD_NAME, DUPLICATE, SCHEMA
 */
export const signSupport = async (
  files: readonly SupportFile[],
  predicate: SupportPredicate,
  key: SigningKey,
): Promise<Buffer> => {
  const sorted = files.toSorted((a, b) => compareBytes(a.path, b.path));
  const subjects = sorted.map(({ path, bytes }) => ({ name: path, digest: digestOf(bytes) }));
  const statement = await signPayload(checkedPayload(subjects, 'support', SUPPORT_PREDICATE, predicate), key);
  const entries = [{ path: STATEMENT, bytes: statement }, ...sorted];
  const tar = writeTar(entries.map(({ path, bytes }) => ({ path, size: bytes.byteLength, content: bytes })));
  const all = Buffer.concat(await Array.fromAsync(tar));
  if (all.byteLength <= MAX_SUPPORT_BYTES) return all;
  throw tooLarge('the support bundle', all.byteLength);
};

export type VerifiedSupport = {
  readonly predicate: SupportPredicate;
  readonly files: readonly SupportFile[];
  /** Of the tar. */
  readonly digest: Digest;
};

/**
 * Reads a support bundle: the signature before anything that it covers. Every file must be named by the statement with its digest, and
 * every name must have its file.
 * @param what its name in messages
 * @throws FleetError TOO_LARGE, TOO_MANY, UNSIGNED, DIGEST_MISMATCH, MISSING_BLOB, SCHEMA; as verifyStatement and readTar
 */
export const verifySupport = async (
  bytes: Buffer,
  key: PublicKey,
  what: string,
): Promise<VerifiedSupport> => {
  if (bytes.byteLength > MAX_SUPPORT_BYTES) throw tooLarge(what, bytes.byteLength);
  let signed: { readonly predicate: SupportPredicate; readonly digests: Map<string, Digest> } | undefined;
  const files: SupportFile[] = [];
  for await (const { path, directory, size, content } of readTar(oneChunk(bytes), {
    maxEntries: MAX_FILES,
  })) {
    if (!signed) {
      if (path !== STATEMENT || size > MAX_STATEMENT_BYTES)
        throw new FleetError('UNSIGNED', `${what} does not begin with ${STATEMENT}`);
      signed = verifyNames(await whole(content), key, what);
      continue;
    }
    const due = signed.digests.get(path);
    if (directory || due === undefined)
      throw new FleetError('DIGEST_MISMATCH', `${what} has ${path}, which its signature does not cover`);
    const read = await whole(content);
    if (digestOf(read) !== due)
      throw new FleetError('DIGEST_MISMATCH', `${path} of ${what} was changed after it was signed`);
    signed.digests.delete(path);
    files.push({ path, bytes: read });
  }
  if (!signed) throw new FleetError('UNSIGNED', `${what} is empty`);
  const [lacking] = signed.digests.keys();
  if (lacking !== undefined)
    throw new FleetError('MISSING_BLOB', `${what} lacks ${lacking}, which its signature names`);
  return { predicate: signed.predicate, files, digest: digestOf(bytes) };
};

const verifyNames = (statement: Buffer, key: PublicKey, what: string) => {
  const verified = verifyStatement([statement], { keys: [key], threshold: 1 }, PREDICATES.support, what);
  const predicate = parseAs(SUPPORT_PREDICATE, verified.predicate, what);
  checkTimes({ time: predicate.time }, what);
  return { predicate, digests: new Map(verified.subjects.map(({ name, digest }) => [name, digest])) };
};

const whole = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(content));

async function* oneChunk(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const tooLarge = (what: string, bytes: number): FleetError =>
  new FleetError('TOO_LARGE', `${what} has ${bytes} bytes, at most ${MAX_SUPPORT_BYTES} are read`);
