import { applyPatch } from '#bundles/delta/apply-patch';
import { MAX_STEPS, MAX_UNCOMPRESSED } from '#bundles/delta/limits';
import type { Digest } from '#bundles/digest';
import { type ErrorCode, isFleetError } from '#bundles/errors';
import type { Delta } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { isStored } from './is-stored.ts';
import { type OldFile, openOldBlob, unpackToFile } from './old-blob.ts';

/** What says that this blob cannot be made here: of a patch that lies, of a base that is not what it should be. */
const CANNOT: readonly ErrorCode[] = [
  'DELTA_INVALID',
  'DIGEST_MISMATCH',
  'SIZE_MISMATCH',
  'BOMB',
  'BAD_GZIP',
  'TRUNCATED',
  'TRAILING',
];

/** 'no-base': what it is made of is not here. 'lies': it makes something else, or nothing; that may have taken a while. */
export type Rebuilt = 'made' | 'no-base' | 'lies';

/**
 * One blob out of an old one and a patch, into the store. Memory: the patch and a few pieces; the content of a packed base
 * lies in a file without a name meanwhile. Unless it was made, nothing was stored.
 * @param delta with the size that was signed for @throws FleetError DISK_FULL, IO, and of the providers
 */
export const rebuildBlob = async (agent: Agent, delta: Delta, patch: Uint8Array): Promise<Rebuilt> => {
  const { state, signal } = agent;
  if (await isStored(agent, delta)) return 'made';
  try {
    await using old = await openOld(agent, delta);
    if (!old) return 'no-base';
    const { digest, size } = delta;
    await state.blobs.write(digest, size, applyPatch([patch], old, MAX_STEPS, size), signal);
    return 'made';
  } catch (error) {
    if (isFleetError(error) && CANNOT.includes(error.code)) return 'lies';
    throw error;
  }
};

/** A gzip file may be a little larger than what is in it. */
const MOST_OF_BASE = MAX_UNCOMPRESSED + (1 << 20);

/** From the store, or from a provider that keeps it as a layer of an image. */
const openOld = async (agent: Agent, { base, form }: Delta): Promise<OldFile | undefined> => {
  const { state, signal } = agent;
  const size = await state.blobs.size(base);
  // No patch is made of one that is larger: not worth reading through.
  if (size !== undefined && size > MOST_OF_BASE) return undefined;
  if (size !== undefined && (await isStored(agent, { digest: base, size }))) {
    if (form === 'plain') return openOldBlob(state.blobs.path(base));
    return unpackToFile(state.blobs.path(base), await state.blobs.open(base, signal), form);
  }
  const kept = await readKept(agent, base);
  return kept && unpackToFile(state.blobs.path(base), kept, form);
};

const readKept = async (
  { images, signal }: Agent,
  base: Digest,
): Promise<AsyncIterable<Uint8Array> | undefined> => {
  for (const provider of images) {
    const found = await provider.read?.(base, signal);
    if (found) return found;
  }
  return undefined;
};
