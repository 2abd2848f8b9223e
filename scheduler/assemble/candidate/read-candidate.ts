import { readFile } from 'node:fs/promises';
import { MAX_CANDIDATE_BYTES } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';
import type { GivenCandidate } from './given-candidate.ts';

/** Maximum size in bytes. A fleet with ten thousand sources has about five megabytes. */

/**
 * Reads a candidate by digest from the first layout that has it, or from a file.
 * @param named 'sha256:...' or a file
 * @param layouts layouts with releases and their candidates
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SCHEMA, BAD_JSON, TOO_LARGE, USAGE
 */
export const readCandidate = async (
  named: string,
  layouts: readonly BlobSource[],
  signal: AbortSignal,
): Promise<GivenCandidate> => {
  const bytes = isDigest(named) ? await fromLayouts(named, layouts, signal) : await fromFile(named);
  return parseCandidate(bytes, named);
};

/** Accepts any formatting: the digest is computed over the canonical form. @throws FleetError BAD_JSON, SCHEMA, TOO_LARGE */
const parseCandidate = (bytes: Buffer, subject: string): GivenCandidate => {
  const value = parseStrictJson(bytes, { maxBytes: MAX_CANDIDATE_BYTES }, subject);
  const document = parseDocument('candidate', value, subject);
  return { document, digest: digestOf(canonicalBytes(document)) };
};

const fromLayouts = async (
  digest: Digest,
  layouts: readonly BlobSource[],
  signal: AbortSignal,
): Promise<Buffer> => {
  for (const layout of layouts) {
    try {
      return await readBlob(layout, digest, MAX_CANDIDATE_BYTES, signal);
    } catch (error) {
      if (!isFleetError(error, 'MISSING_BLOB')) throw error;
    }
  }
  throw new FleetError(
    'MISSING_BLOB',
    `the candidate ${digest} is not in ${layouts.map(({ name }) => name).join(' or ') || 'any layout'}`,
    {
      subject: digest,
      hint: 'It is in the layout of the release that was built from it: give that layout as --layout or --previous, or a file',
    },
  );
};

const fromFile = async (file: string): Promise<Buffer> => {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EISDIR') throw toFleetError(error, `reading ${file}`);
    throw new FleetError('USAGE', `${JSON.stringify(file)} is neither a candidate's digest nor a file`, {
      hint: 'Write sha256:<64 hex digits>, as build tells it, or name a file',
    });
  }
};
