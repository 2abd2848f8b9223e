import { describe, expect, it } from 'vitest';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { digestOf } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import { blobsInMemory } from '../../blobs-in-memory.ts';
import { verdict } from '../../verdict.ts';

const blobs = blobsInMemory();
const document = (role: string, content: string, claims: Partial<Document> = {}): Document => ({
  role,
  digest: blobs.put(content),
  size: content.length,
  mediaType: 'application/json',
  ...claims,
});
const texts = (files: readonly Buffer[]) => files.map((file) => file.toString()).toSorted();
const prod = { environment: 'prod', clusterType: 'kiosk' };

describe('readChannelDocuments', () => {
  it('returns the documents whose claims match the site, channel, bundle and agent', async () => {
    const documents = await readChannelDocuments(
      blobs,
      [
        document('root', 'root 1'),
        document('root', 'root 2'),
        document('site', 'site 7', { site: 'plant-7' }),
        document('site', 'site 8', { site: 'plant-8' }),
        document('release', 'prod', prod),
        document('release', 'staging', { ...prod, environment: 'staging' }),
        document('release', 'without a channel'),
        document('bundle', 'statement a', { about: digestOf('a') }),
        document('bundle', 'statement b', { about: digestOf('b') }),
        document('receipt', 'receipt', { agent: 'plant-7/line-1' }),
        document('song', 'of a later version'),
      ],
      'plant-7',
    );
    expect(texts(documents.roots)).toEqual(['root 1', 'root 2']);
    expect(texts(documents.site)).toEqual(['site 7']);
    expect(documents.claimedSites).toEqual(['plant-7', 'plant-8']);
    expect(documents.claimedChannels).toEqual([prod, { ...prod, environment: 'staging' }]);
    expect(texts(await documents.release(prod))).toEqual(['prod']);
    expect(await documents.release({ ...prod, clusterType: 'server' })).toEqual([]);
    expect(texts(await documents.bundleStatements(digestOf('a')))).toEqual(['statement a']);
    expect(texts(await documents.receipts('plant-7/line-1'))).toEqual(['receipt']);
    expect(await documents.receipts('plant-7/line-2')).toEqual([]);
  });

  it('returns the newest version, with all its signatures', async () => {
    const documents = await readChannelDocuments(
      blobs,
      [
        document('release', 'old', { ...prod, version: 1 }),
        document('release', 'new, first signature', { ...prod, version: 2 }),
        document('release', 'new, second signature', { ...prod, version: 2 }),
        document('site', 'old site', { site: 'plant-7' }),
        document('site', 'new site', { site: 'plant-7', version: 1 }),
      ],
      'plant-7',
    );
    expect(texts(await documents.release(prod))).toEqual(['new, first signature', 'new, second signature']);
    expect(texts(documents.site)).toEqual(['new site']);
  });

  it('verifies digest and size of each document, independent of its claims', async () => {
    const missing = document('root', 'never there');
    blobs.content.delete(missing.digest);
    const changed = document('root', 'to be changed');
    blobs.content.set(changed.digest, Buffer.from('to be CHANGED'));
    expect(await verdict(() => readChannelDocuments(blobs, [missing], 'plant-7'))).toBe('MISSING_BLOB');
    expect(await verdict(() => readChannelDocuments(blobs, [changed], 'plant-7'))).toBe('DIGEST_MISMATCH');
  });

  it('finds a document by digest only under its role', async () => {
    const values = document('site-values', 'values');
    const documents = await readChannelDocuments(blobs, [values], 'plant-7');
    expect((await documents.named(values.digest, 'site-values')).toString()).toBe('values');
    expect(await verdict(() => documents.named(values.digest, 'revocations'))).toBe('MISSING_BLOB');
    expect(await verdict(() => documents.named(digestOf('x'), 'site-values'))).toBe('MISSING_BLOB');
  });
});
