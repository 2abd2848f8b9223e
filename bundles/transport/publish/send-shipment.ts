import type { Descriptor } from '../../formats/layout/manifest.ts';
import { FleetError } from '../../errors.ts';
import { attachReferrer } from '../registry/attach-referrer.ts';
import type { TrustRoot } from '../../trust/root/root.ts';

import type { Carrier } from './carrier.ts';
import type { Shelf } from './destination.ts';
import { judgePointer } from './judge-pointer.ts';
import type { Parcel, Shipment } from './shipment.ts';

/** Counts of blobs that were uploaded, mounted or already there. */
export type Freight = {
  readonly uploaded: number;
  readonly mounted: number;
  readonly there: number;
  readonly manifests: number;
  /** Of blobs that were uploaded. */
  readonly bytes: number;
};

export const NO_FREIGHT: Freight = { uploaded: 0, mounted: 0, there: 0, manifests: 0, bytes: 0 };

export type Sending = {
  readonly shelf: Shelf;
  readonly carrier: Carrier;
  readonly chain: readonly TrustRoot[];
  /** What the pointer named when we looked. */
  readonly before: Descriptor | undefined;
  readonly hasReferrers: boolean;
  /** Look for every blob, even of what is there under its tag. */
  readonly repair: boolean;
  readonly signal: AbortSignal;
};

/** Options for an upload without a pointer. */
export type StageSending = Omit<Sending, 'chain' | 'before'>;

/** 'superseded': another publisher published a newer one meanwhile. */
export type Sent = { readonly outcome: 'sent' | 'superseded'; readonly freight: Freight };

/**
 * Uploads a batch, the pointer last: a reader of the pointer finds everything that it needs, also after a crash.
 * @throws FleetError ROLLBACK, EQUIVOCATION, BUSY, REGISTRY_*, and of reading the layout
 */
export const sendShipment = async (shipment: Shipment, sending: Sending): Promise<Sent> => {
  const freight = await sendStages(shipment.repository, shipment.stages, sending);
  return { outcome: await movePointer(shipment, sending), freight };
};

/**
 * Brings parcels into one repository: the blobs of all stages side by side, as nobody finds a blob that no manifest names, and the
 * manifests of each when those of all before it are there. @throws as sendShipment
 */
export const sendStages = async (
  path: string,
  stages: Shipment['stages'],
  sending: StageSending,
): Promise<Freight> => {
  let before: Promise<unknown> = Promise.resolve();
  const sent = stages.map((stage) => {
    const needed = before;
    const work = allDone(stage.map((parcel) => sendParcel(path, parcel, needed, sending))).then(
      async (done) => {
        // One without parcels, too, is over when those before it are.
        await needed;
        return done;
      },
    );
    before = work;
    return work;
  });
  return (await allDone(sent)).flat().reduce(addFreight, NO_FREIGHT);
};

const sendParcel = async (
  path: string,
  { tag, descriptor, bytes, blobs, subject }: Parcel,
  needed: Promise<unknown>,
  { shelf, carrier, hasReferrers, repair, signal }: StageSending,
): Promise<Freight> => {
  signal.throwIfAborted();
  let freight = NO_FREIGHT;
  const known = repair ? undefined : await shelf.resolve(tag, signal);
  if (known?.digest !== descriptor.digest) {
    // It gets its tag after all its parts, so one that has it needs none of them.
    const carried = await allDone(
      blobs.map(async (blob) => ({ blob, how: await carrier.bring({ path, shelf }, blob, signal) })),
    );
    await needed;
    await shelf.pushManifest(tag, { mediaType: descriptor.mediaType, bytes }, signal);
    freight = carried.reduce(
      (sum, { blob, how }) =>
        addFreight(sum, { ...NO_FREIGHT, [how]: 1, bytes: how === 'uploaded' ? blob.size : 0 }),
      { ...NO_FREIGHT, manifests: 1 },
    );
  }
  await needed;
  // Also for one that was there: a publisher may have been killed between the two.
  if (subject && hasReferrers) await attachReferrer(shelf, subject, descriptor, signal);
  return freight;
};

/** Like Promise.all, but rejects only after all have settled. */
const allDone = async <T>(works: readonly Promise<T>[]): Promise<readonly T[]> => {
  await Promise.allSettled(works);
  return Promise.all(works);
};

export const addFreight = (a: Freight, b: Freight): Freight => ({
  uploaded: a.uploaded + b.uploaded,
  mounted: a.mounted + b.mounted,
  there: a.there + b.there,
  manifests: a.manifests + b.manifests,
  bytes: a.bytes + b.bytes,
});

const ATTEMPTS = 4;

/**
 * Registries have no compare-and-set. So the pointer is looked at right before it is written and right after: of two
 * publishers that meet, the one with the older release gives way, and the newer one writes again what was overwritten.
 */
const movePointer = async (shipment: Shipment, sending: Sending): Promise<Sent['outcome']> => {
  const { tag, artifact, companions, stages } = shipment;
  const { shelf, chain, signal } = sending;
  const parcel = stages.at(-1)?.[0];
  if (!parcel) throw new FleetError('INTERNAL', `there is nothing to point ${tag} at`);
  let judged = sending.before?.digest;
  let written = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const there = await shelf.resolve(tag, signal);
    if (there?.digest === artifact.digest) return 'sent';
    if (there && there.digest !== judged) {
      try {
        await judgePointer(shelf, shipment, there, chain);
      } catch (error) {
        if (written && error instanceof FleetError && error.code === 'ROLLBACK') return 'superseded';
        throw error;
      }
      judged = there.digest;
    }
    for (const companion of companions)
      await shelf.pushManifest(
        companion.tag,
        { mediaType: companion.descriptor.mediaType, bytes: companion.bytes },
        signal,
      );
    await shelf.pushManifest(tag, { mediaType: parcel.descriptor.mediaType, bytes: parcel.bytes }, signal);
    written = true;
  }
  if ((await shelf.resolve(tag, signal))?.digest === artifact.digest) return 'sent';
  throw new FleetError('BUSY', `somebody else keeps writing ${shelf.name}:${tag}`, {
    hint: 'Let one machine alone publish to a registry, then run this again',
  });
};
