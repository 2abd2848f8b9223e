import { createHash } from 'node:crypto';
import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { contentOf } from '#bundles/formats/delta/gzip-layer';
import { MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import { makePatch, type Patch } from '#bundles/formats/delta/make-patch';
import { compareBytes, type Digest, digestOf, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource, BlobStore } from '#bundles/formats/layout/blobs';
import { findManifest } from '#bundles/formats/layout/read-manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { type Delta, DELTAS_FOLDER } from '#bundles/formats/medium/medium';
import type { Progress } from '#cli/progress';
import { channelRepository } from '#bundles/transport/registry/references';
import type { Bases } from '../../source/base/base.ts';
import { knowledgeOf } from '../choose-blobs.ts';
import type { PlannedBlob } from '../plan.ts';
import type { OfferedBundle } from '../../source/offer.ts';
import type { Source } from '../../source/source.ts';
import { type Slot, slotsOf } from './slots.ts';

/** Below that a patch saves nothing that anybody notices. */
const MIN_BYTES = 64 << 10;
/** A patch longer than this share of the blob is not worth the work of those who apply it. */
const MOST = 0.7;
/** One this short is not bettered by another candidate. */
const SHORT = 0.1;

/** What patches are made for. */
export type DeltaRequest = {
  readonly source: Source;
  readonly bundles: readonly OfferedBundle[];
  readonly bases: Pick<Bases, 'bases' | 'readers' | 'asked'>;
  /** What would travel whole. */
  readonly blobs: readonly PlannedBlob[];
  /** Bytes of the longest that may be; undefined: as long as it pays. */
  readonly maxPatch?: number | undefined;
  /** Where the patches are put. */
  readonly patches: BlobStore;
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Returns patches for new layers whose previous layer every reader has, where a patch is smaller. Blobs that an import asked for
 * get no patch, because a patch may have been what failed. Each patch is applied here to check it. One pair at a time is in memory:
 * both blobs, their content, and the repacked content to compare, about six times the content.
 * @throws FleetError as reading blobs of the source: MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, REGISTRY_*
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
      // One that only an earlier medium has cannot be read layer by layer here.
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
  let most = Math.min(Math.floor(size * MOST), maxPatch ?? size);
  for (const base of candidates) {
    const bytes = await blobs.size(base);
    if (bytes === undefined || bytes > MAX_UNCOMPRESSED) continue;
    const fresh = await readBlob(blobs, digest, MAX_UNCOMPRESSED, signal);
    const old = await readBlob(blobs, base, MAX_UNCOMPRESSED, signal);
    const patch = await makePatch(old, fresh, most);
    if (!patch) continue;
    await checkPatch(patch, old, digest);
    best = { ...patch, base };
    most = patch.bytes.byteLength - 1;
    if (most < size * SHORT) break;
  }
  if (!best) return undefined;
  const patch = { digest: digestOf(best.bytes), size: best.bytes.byteLength };
  await patches.write(patch.digest, patch.size, best.bytes, signal);
  // Named after its own bytes: an older patch for the same blob stays whole until the new medium counts.
  const path = `${DELTAS_FOLDER}/${hexOf(patch.digest).slice(0, 32)}.zst`;
  return { digest, size, base: best.base, form: best.form, patch: { path, ...patch } };
};

/** As the site will do it. @throws FleetError INTERNAL */
const checkPatch = async ({ form, bytes }: Patch, old: Buffer, digest: Digest): Promise<void> => {
  const content = form === 'gzip' ? (contentOf(old) ?? old) : old;
  const hash = createHash('sha256');
  const read = async (offset: number, length: number) => content.subarray(offset, offset + length);
  for await (const chunk of applyPatch([bytes], { size: content.length, read })) hash.update(chunk);
  if (`sha256:${hash.digest('hex')}` === digest) return;
  throw new FleetError('INTERNAL', 'a patch made here does not make the blob that it is for', {
    subject: digest,
  });
};

/** A patch costs minutes where a blob is large: few are tried. */
const CANDIDATES = 2;

/**
 * Which old blobs a new one may be made of: those in the same slot, then those of the same group, nearest in size first.
 * @param allowed whether everybody who will read the new blob has the old one
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
