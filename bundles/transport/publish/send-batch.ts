import type { Descriptor } from '../../formats/layout/manifest.ts';
import { FleetError } from '../../errors.ts';
import { attachReferrer } from '../registry/attach-referrer.ts';
import type { TrustRoot } from '../../trust/root/root.ts';

import type { Carrier } from './carrier.ts';
import type { TargetRepository } from './destination.ts';
import { judgePointer } from './judge-pointer.ts';
import type { ManifestUpload, UploadBatch } from './upload-batch.ts';

/** Counts of blobs that were uploaded, mounted or already there. */
export type TransferCounts = {
  readonly uploaded: number;
  readonly mounted: number;
  readonly there: number;
  readonly manifests: number;
  /** Of blobs that were uploaded. */
  readonly bytes: number;
};

export const NO_TRANSFERS: TransferCounts = { uploaded: 0, mounted: 0, there: 0, manifests: 0, bytes: 0 };

export type Sending = {
  readonly target: TargetRepository;
  readonly carrier: Carrier;
  readonly chain: readonly TrustRoot[];
  /** Digest that the pointer named when it was last read. */
  readonly before: Descriptor | undefined;
  readonly hasReferrers: boolean;
  /** Look for every blob, even if the tag of its manifest exists. */
  readonly repair: boolean;
  readonly signal: AbortSignal;
};

/** Options for an upload without a pointer. */
export type StageSending = Omit<Sending, 'chain' | 'before'>;

/** 'superseded': another publisher published a newer one meanwhile. */
export type SendResult = { readonly outcome: 'sent' | 'superseded'; readonly freight: TransferCounts };

/**
 * Uploads a batch, the pointer last: a reader of the pointer finds everything that it needs, also after a crash.
 * @throws FleetError ROLLBACK, EQUIVOCATION, BUSY, REGISTRY_*, and of reading the layout
 */
export const sendBatch = async (batch: UploadBatch, sending: Sending): Promise<SendResult> => {
  const transfers = await sendStages(batch.repository, batch.stages, sending);
  return { outcome: await movePointer(batch, sending), freight: transfers };
};

/**
 * Uploads to one repository: the blobs of all stages concurrently, because no client finds a blob without a manifest, and the
 * manifests of a stage when all earlier stages are complete. @throws as sendBatch
 */
export const sendStages = async (
  path: string,
  stages: UploadBatch['stages'],
  sending: StageSending,
): Promise<TransferCounts> => {
  let before: Promise<unknown> = Promise.resolve();
  const sent = stages.map((stage) => {
    const needed = before;
    const work = allDone(stage.map((upload) => sendManifest(path, upload, needed, sending))).then(
      async (done) => {
        // Also a stage without uploads is complete only when the earlier ones are.
        await needed;
        return done;
      },
    );
    before = work;
    return work;
  });
  return (await allDone(sent)).flat().reduce(addTransfers, NO_TRANSFERS);
};

const sendManifest = async (
  path: string,
  { tag, descriptor, bytes, blobs, subject }: ManifestUpload,
  needed: Promise<unknown>,
  { target, carrier, hasReferrers, repair, signal }: StageSending,
): Promise<TransferCounts> => {
  signal.throwIfAborted();
  let transfers = NO_TRANSFERS;
  const known = repair ? undefined : await target.resolve(tag, signal);
  if (known?.digest !== descriptor.digest) {
    // The tag is written after the blobs, so a manifest that has its tag is complete.
    const carried = await allDone(
      blobs.map(async (blob) => ({ blob, how: await carrier.bring({ path, target }, blob, signal) })),
    );
    await needed;
    await target.pushManifest(tag, { mediaType: descriptor.mediaType, bytes }, signal);
    transfers = carried.reduce(
      (sum, { blob, how }) =>
        addTransfers(sum, { ...NO_TRANSFERS, [how]: 1, bytes: how === 'uploaded' ? blob.size : 0 }),
      { ...NO_TRANSFERS, manifests: 1 },
    );
  }
  await needed;
  // Also if the manifest was there already: an earlier run may have been killed before this step.
  if (subject && hasReferrers) await attachReferrer(target, subject, descriptor, signal);
  return transfers;
};

/** Like Promise.all, but rejects only after all have settled. */
const allDone = async <T>(works: readonly Promise<T>[]): Promise<readonly T[]> => {
  await Promise.allSettled(works);
  return Promise.all(works);
};

export const addTransfers = (a: TransferCounts, b: TransferCounts): TransferCounts => ({
  uploaded: a.uploaded + b.uploaded,
  mounted: a.mounted + b.mounted,
  there: a.there + b.there,
  manifests: a.manifests + b.manifests,
  bytes: a.bytes + b.bytes,
});

const ATTEMPTS = 4;

/**
 * Registries have no compare-and-set, so the pointer is read right before and right after it is written. Of two concurrent
 * publishers, the one with the older release gives up, and the newer one writes its pointer again.
 */
const movePointer = async (batch: UploadBatch, sending: Sending): Promise<SendResult['outcome']> => {
  const { tag, artifact, companions, stages } = batch;
  const { target, chain, signal } = sending;
  const upload = stages.at(-1)?.[0];
  if (!upload) throw new FleetError('INTERNAL', `there is nothing to point ${tag} at`);
  let judged = sending.before?.digest;
  let written = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const there = await target.resolve(tag, signal);
    if (there?.digest === artifact.digest) return 'sent';
    if (there && there.digest !== judged) {
      try {
        await judgePointer(target, batch, there, chain);
      } catch (error) {
        if (written && error instanceof FleetError && error.code === 'ROLLBACK') return 'superseded';
        throw error;
      }
      judged = there.digest;
    }
    for (const companion of companions)
      await target.pushManifest(
        companion.tag,
        { mediaType: companion.descriptor.mediaType, bytes: companion.bytes },
        signal,
      );
    await target.pushManifest(tag, { mediaType: upload.descriptor.mediaType, bytes: upload.bytes }, signal);
    written = true;
  }
  if ((await target.resolve(tag, signal))?.digest === artifact.digest) return 'sent';
  throw new FleetError('BUSY', `another publisher keeps writing ${target.name}:${tag}`, {
    hint: 'Publish to a registry from one machine only, then run this again',
  });
};
