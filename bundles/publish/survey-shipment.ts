import type { Digest } from '../digest.ts';
import type { Shelf } from './destination.ts';
import { addFreight, type Freight, NO_FREIGHT } from './send-shipment.ts';
import type { Parcel, Shipment } from './shipment.ts';

/** What sending a shipment would take, by questions alone. What could be mounted is counted as an upload. */
export const surveyShipment = async (
  shipment: Pick<Shipment, 'stages'>,
  shelf: Shelf,
  repair: boolean,
  signal: AbortSignal,
): Promise<Freight> => {
  const asked = new Set<Digest>();
  let freight = NO_FREIGHT;
  for (const parcel of shipment.stages.flat()) {
    signal.throwIfAborted();
    freight = addFreight(freight, await surveyParcel(parcel, shelf, repair, asked, signal));
  }
  return freight;
};

const surveyParcel = async (
  { tag, descriptor, blobs }: Parcel,
  shelf: Shelf,
  repair: boolean,
  asked: Set<Digest>,
  signal: AbortSignal,
): Promise<Freight> => {
  const known = await shelf.resolve(tag, signal);
  if (known?.digest === descriptor.digest && !repair) return NO_FREIGHT;
  const fresh = blobs.filter(({ digest }) => !asked.has(digest));
  for (const { digest } of fresh) asked.add(digest);
  const found = await Promise.all(
    fresh.map(async ({ digest, size }) => ({ size, there: (await shelf.blobs.size(digest)) === size })),
  );
  const absent = found.filter(({ there }) => !there);
  return {
    ...NO_FREIGHT,
    manifests: known?.digest === descriptor.digest ? 0 : 1,
    there: found.length - absent.length,
    uploaded: absent.length,
    bytes: absent.reduce((sum, { size }) => sum + size, 0),
  };
};
