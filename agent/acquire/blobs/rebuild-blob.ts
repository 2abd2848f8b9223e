import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { MAX_STEPS, MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import type { Digest } from '#bundles/digest';
import { type ErrorCode, isFleetError } from '#bundles/errors';
import type { Delta } from '#bundles/formats/medium/medium';
import type { Agent } from '../../store/agent.ts';
import { isStored } from './is-stored.ts';
import { type OldFile, openOldBlob, unpackToFile } from './old-blob.ts';

/** Error codes of a wrong patch or a wrong base. */
const INVALID_PATCH: readonly ErrorCode[] = [
  'DELTA_INVALID',
  'DIGEST_MISMATCH',
  'SIZE_MISMATCH',
  'BOMB',
  'BAD_GZIP',
  'TRUNCATED',
  'TRAILING',
];

/** 'no-base': the base is not here. 'lies': the patch does not yield the blob, which may have taken long to find out. */
export type Rebuilt = 'made' | 'no-base' | 'lies';

/**
 * Rebuilds one blob from an old one and a patch, and stores it. Holds the patch and a few pieces in memory; a compressed base
 * is unpacked into an unlinked file. Stores nothing unless it returns 'made'.
 * @param delta with the signed size of the blob @throws FleetError DISK_FULL, IO, or the error of a provider
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
    if (isFleetError(error) && INVALID_PATCH.includes(error.code)) return 'lies';
    throw error;
  }
};

/** Largest stored size of a base; gzip may be slightly larger than its content. */
const MAX_BASE_BYTES = MAX_UNCOMPRESSED + (1 << 20);

/** Opens the base from the store, or from a provider that has it as an image layer. */
const openOld = async (agent: Agent, { base, form }: Delta): Promise<OldFile | undefined> => {
  const { state, signal } = agent;
  const size = await state.blobs.size(base);
  // No patch has a larger base, so it need not be read.
  if (size !== undefined && size > MAX_BASE_BYTES) return undefined;
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
