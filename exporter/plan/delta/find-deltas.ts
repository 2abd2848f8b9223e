import { createHash } from 'node:crypto';
import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { contentOf } from '#bundles/formats/delta/gzip-layer';
import { MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import { createPatch, type Patch } from '#bundles/formats/delta/create-patch';
import { compareBytes, type Digest, digestOf, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource, BlobStore } from '#bundles/formats/layout/blobs';
import { findManifest } from '#bundles/formats/layout/read-manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { type Delta, DELTAS_FOLDER } from '#bundles/formats/medium/medium';
import type { Progress } from '#cli/progress';
import { channelRepository } from '#bundles/transport/registry/references';
import type { Bases } from '../../source/base/base.ts';
import { knowledgeOf } from '#bundles/formats/medium/choose-blobs';
import type { PlannedBlob } from '../plan.ts';
import type { OfferedBundle } from '../../source/offer.ts';
import type { Source } from '../../source/source.ts';
import { type Slot, slotsOf } from './slots.ts';

/** Smallest blob, in bytes, for which a patch is worth trying. */
const MIN_BYTES = 64 << 10;
/** Largest useful patch, as a share of the blob; a longer one does not pay for the work of applying it. */
const MAX_PATCH_SHARE = 0.7;
/** A patch below this share of the blob is taken without trying further bases. */
const GOOD_PATCH_SHARE = 0.1;

/** Input for patches. */
export type DeltaRequest = {
  readonly source: Source;
  readonly bundles: readonly OfferedBundle[];
  readonly bases: Pick<Bases, 'bases' | 'readers' | 'asked'>;
  /** Blobs that would be written whole. */
  readonly blobs: readonly PlannedBlob[];
  /** Size limit of a patch in bytes; undefined: only the share of the blob limits it. */
  readonly maxPatch?: number | undefined;
  /** Storage for the patches. */
  readonly patches: BlobStore;
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Makes patches for new layers whose previous layer every reader has, if a patch is smaller. Blobs that an import requested get no patch,
 * because a patch may have failed before. Each patch is applied once as a check. One pair of blobs is in memory at a time: both blobs,
 * their content, and the repacked content to compare, about six times the content.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, REGISTRY_*, INTERNAL
 */
export const findDeltas = async (order: DeltaRequest): Promise<readonly Delta[]> => {
  const { source, bundles, blobs, bases, progress, signal } = order;
  const { fresh, old } = await readSlots(order);
  const large = blobs.filter(
    ({ digest, size }) => size > MIN_BYTES && size <= MAX_UNCOMPRESSED && !bases.asked.has(digest),
  );
  progress.begin({ name: 'making patches', total: large.reduce((sum, { size }) => sum + size, 0) });
  const deltas: Delta[] = [];
  for (const blob of large) {
    signal?.throwIfAborted();
    const readers = bundles.filter(({ closure }) => closure.some(({ digest }) => digest === blob.digest));
    const everybodyHas = (digest: Digest): boolean =>
      readers.every((bundle) => {
        const known = knowledgeOf(bundle, bases).bases;
        return (
          known.length > 0 && known.every(({ holds }) => [...holds.values()].some((set) => set.has(digest)))
        );
      });
    const candidates = pairBlobs(fresh.get(blob.digest) ?? [], old, everybodyHas);
    const delta = await bestDelta(order, blob, candidates, source.blobs(blob.repository));
    if (delta) deltas.push(delta);
    progress.advance(blob.size);
  }
  return deltas;
};

const readSlots = async ({
  source,
  bundles,
  bases,
  signal,
}: DeltaRequest): Promise<{
  readonly fresh: ReadonlyMap<Digest, readonly Slot[]>;
  readonly old: readonly Slot[];
}> => {
  const fresh: Slot[] = [];
  const old = new Map<Digest, readonly Slot[]>();
  for (const bundle of bundles) {
    const from = source.blobs(channelRepository(bundle.channel));
    fresh.push(...(await slotsOf(from, bundle.digest, signal)));
    for (const digest of knowledgeOf(bundle, bases).bases.flatMap(({ holds }) => [...holds.keys()])) {
      // A base that only an earlier medium has cannot be read here.
      if (old.has(digest) || !(await findManifest(from, digest, signal))) continue;
      old.set(digest, await slotsOf(from, digest, signal));
    }
  }
  return { fresh: Map.groupBy(fresh, ({ digest }) => digest), old: [...old.values()].flat() };
};

const bestDelta = async (
  { patches, maxPatch, signal }: DeltaRequest,
  { digest, size }: PlannedBlob,
  candidates: readonly Digest[],
  blobs: BlobSource,
): Promise<Delta | undefined> => {
  let best: (Patch & { readonly base: Digest }) | undefined;
  let most = Math.min(Math.floor(size * MAX_PATCH_SHARE), maxPatch ?? size);
  for (const base of candidates) {
    const bytes = await blobs.size(base);
    if (bytes === undefined || bytes > MAX_UNCOMPRESSED) continue;
    const fresh = await readBlob(blobs, digest, MAX_UNCOMPRESSED, signal);
    const old = await readBlob(blobs, base, MAX_UNCOMPRESSED, signal);
    const patch = await createPatch(old, fresh, most);
    if (!patch) continue;
    await checkPatch(patch, old, digest);
    best = { ...patch, base };
    most = patch.bytes.byteLength - 1;
    if (most < size * GOOD_PATCH_SHARE) break;
  }
  if (!best) return undefined;
  const patch = { digest: digestOf(best.bytes), size: best.bytes.byteLength };
  await patches.write(patch.digest, patch.size, best.bytes, signal);
  // The name is the patch's own digest, so an older patch for the same blob stays until the new medium is complete.
  const path = `${DELTAS_FOLDER}/${hexOf(patch.digest).slice(0, 32)}.zst`;
  return { digest, size, base: best.base, form: best.form, patch: { path, ...patch } };
};

/** Applies the patch as the site will. @throws FleetError INTERNAL if the result differs */
const checkPatch = async ({ form, bytes }: Patch, old: Buffer, digest: Digest): Promise<void> => {
  const content = form === 'gzip' ? (contentOf(old) ?? old) : old;
  const hash = createHash('sha256');
  const read = async (offset: number, length: number) => content.subarray(offset, offset + length);
  for await (const chunk of applyPatch([bytes], { size: content.length, read })) hash.update(chunk);
  if (`sha256:${hash.digest('hex')}` === digest) return;
  throw new FleetError('INTERNAL', 'a patch that was made here does not yield its blob', {
    subject: digest,
  });
};

/** Upper bound on bases to try for one blob, because a patch for a large blob takes minutes. */
const CANDIDATES = 2;

/**
 * Selects possible bases of a new blob: blobs of the same slot, then of the same group, nearest in size first.
 * @param allowed tells whether every reader of the new blob has the old one
 */
const pairBlobs = (
  fresh: readonly Slot[],
  old: readonly Slot[],
  allowed: (old: Digest) => boolean,
): readonly Digest[] => {
  const slots = new Set(fresh.map(({ slot }) => slot));
  const groups = new Set(fresh.map(({ group }) => group));
  const size = fresh[0]?.size ?? 0;
  const distance = (one: Slot): number => (slots.has(one.slot) ? -1 : Math.abs(one.size - size));
  const known = old
    .filter((one) => groups.has(one.group) && allowed(one.digest))
    .toSorted((a, b) => distance(a) - distance(b) || compareBytes(a.digest, b.digest));
  return [...new Set(known.map(({ digest }) => digest))].slice(0, CANDIDATES);
};
