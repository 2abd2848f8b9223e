import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { type Digest, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { CarriedDocument } from '#bundles/formats/events/hub-api';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { Offer } from '../acquire/offers/read-offer.ts';

const MAX_DOCUMENTS = 256;

/**
 * Returns the documents of a hub's answer as an offer, as from a medium. Each document is verified by digest when it is read.
 * @throws FleetError HUB_REFUSED, TOO_MANY, or the error of reading a document
 */
export const offerFromAnswer = async (documents: unknown, site: string, url: string): Promise<Offer> => {
  if (!Array.isArray(documents) || !documents.every(isCarried))
    throw new FleetError('HUB_REFUSED', `${url} does not answer with a list of documents`);
  if (documents.length > MAX_DOCUMENTS)
    throw new FleetError(
      'TOO_MANY',
      `${url} gives ${documents.length} documents, at most ${MAX_DOCUMENTS} are read`,
    );
  const bytes = new Map<Digest, Buffer>(documents.map((it) => [it.digest, Buffer.from(it.bytes, 'base64')]));
  const blobs: BlobSource = {
    name: `the answer of ${url}`,
    size: async (digest) => bytes.get(digest)?.byteLength,
    open: async (digest) => {
      const found = bytes.get(digest);
      if (found) return once(found);
      throw missingBlob(digest, `the answer of ${url}`);
    },
  };
  return {
    source: { blobs },
    documents: await readChannelDocuments(blobs, documents, site),
    pointers: new Map(),
  };
};

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const isCarried = (value: unknown): value is CarriedDocument => {
  const it = value as Partial<CarriedDocument> | null;
  return isDigest(it?.digest) && typeof it?.role === 'string' && typeof it?.bytes === 'string';
};
