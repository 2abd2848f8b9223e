import { applyPatch } from '#bundles/delta/apply-patch';
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

/**
 * One blob out of an old one and a patch, into the store. Memory: the patch and a few pieces; the content of a packed base
 * lies in a file without a name meanwhile.
 * @returns false where it cannot be made; nothing was stored then @throws FleetError DISK_FULL, IO, and of the providers
 */
export const rebuildBlob = async (agent: Agent, delta: Delta, patch: Uint8Array): Promise<boolean> => {
  const { state, signal } = agent;
  if (await isStored(agent, delta)) return true;
  try {
    await using old = await openOld(agent, delta);
    if (!old) return false;
    await state.blobs.write(delta.digest, delta.size, applyPatch([patch], old), signal);
    return true;
  } catch (error) {
    if (isFleetError(error) && CANNOT.includes(error.code)) return false;
    throw error;
  }
};

/** From the store, or from a provider that keeps it as a layer of an image. */
const openOld = async (agent: Agent, { base, form }: Delta): Promise<OldFile | undefined> => {
  const { state, signal } = agent;
  const size = await state.blobs.size(base);
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
