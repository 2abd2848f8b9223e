import { FleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import type { Document } from '../../formats/layout/document.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { advanceRoot, MAX_ROTATIONS } from '../../trust/root/advance-root.ts';
import { readRoot } from '../../trust/root/read-root.ts';
import type { TrustRoot } from '../../trust/root/root.ts';

const MAX_ROOT_BYTES = 512 << 10;

/**
 * Reads the roots among documents, oldest first, each signed by the previous one.
 * @param known a trusted chain, which the roots continue
 * @throws FleetError ROOT_UNKNOWN, ROOT_FLEET for a root of another fleet, ROOT_*; as readBlob
 */
export const readChain = async (
  blobs: BlobSource,
  documents: readonly Document[],
  known: readonly TrustRoot[] = [],
): Promise<readonly TrustRoot[]> => {
  const chain = [...known];
  // A root with a known digest is not fetched again.
  const unknown = new Set(
    documents
      .filter(({ role, digest }) => role === 'root' && !known.some((root) => root.digest === digest))
      .map(({ digest }) => digest),
  );
  if (unknown.size > MAX_ROTATIONS) {
    throw new FleetError(
      'TOO_MANY',
      `${blobs.name} has ${unknown.size} roots, at most ${MAX_ROTATIONS} are read`,
    );
  }
  const roots = await Promise.all(
    [...unknown].map(async (digest) => readRoot(await readBlob(blobs, digest, MAX_ROOT_BYTES))),
  );
  for (const root of roots.toSorted((a, b) => a.version - b.version)) {
    const last = chain.at(-1);
    const next = last ? advanceRoot(last, [root]) : root;
    if (next !== last) chain.push(next);
  }
  if (chain.length > 0) return chain;
  throw new FleetError('ROOT_UNKNOWN', `${blobs.name} has no trust root`, {
    hint: 'Build it again; every release carries the roots',
  });
};
