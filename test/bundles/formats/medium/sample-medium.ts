import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import type { Medium } from '#bundles/formats/medium/medium';

/** A medium of ours: two blobs that lie whole and one in three pieces. The first is read in three goes. */
export const WHOLE = [Buffer.alloc(2_300_000, 'abc'), Buffer.from('small')] as const;
export const CHUNKED = Buffer.alloc(2500, 'xyz');

const pieces = [CHUNKED.subarray(0, 1000), CHUNKED.subarray(1000, 2000), CHUNKED.subarray(2000)];
const chunkPath = (index: number): string =>
  `fleet/chunks/${hexOf(digestOf(CHUNKED)).slice(0, 32)}.${String(index + 1).padStart(3, '0')}`;

export const blobPath = (digest: Digest): string => `blobs/sha256/${hexOf(digest)}`;

export const sampleMedium = (change: Partial<Medium> = {}): Medium => ({
  format: 1,
  fleet: 'acme',
  createdAt: '2026-11-21T08:00:00Z',
  documents: [],
  bundles: [],
  chunks: [
    {
      digest: digestOf(CHUNKED),
      size: CHUNKED.length,
      files: pieces.map((piece, index) => ({
        path: chunkPath(index),
        digest: digestOf(piece),
        size: piece.length,
      })),
    },
  ],
  critical: [],
  ...change,
});

export type MediumFile = { readonly path: string; readonly content: Buffer };

/** Its files in the order of a tar: the table of contents first. */
export const mediumFiles = (change: Partial<Medium> = {}): readonly MediumFile[] => [
  { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
  { path: 'index.json', content: Buffer.from('{"manifests":[],"schemaVersion":2}') },
  { path: 'fleet/medium.json', content: canonicalBytes(sampleMedium(change)) },
  ...WHOLE.map((content) => ({ path: blobPath(digestOf(content)), content })),
  ...pieces.map((content, index) => ({ path: chunkPath(index), content })),
  { path: 'fleet/reports/b/1.ndjson', content: Buffer.from('second') },
  { path: 'fleet/reports/a/1.ndjson', content: Buffer.from('first') },
];
