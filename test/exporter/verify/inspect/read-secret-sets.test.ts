import { expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { PREDICATES, SEALED_SECRETS } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { readSecretSets } from '../../../../exporter/verify/inspect/read-secret-sets.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const medium = () => {
  const blobs = new Map<Digest, Buffer>();
  const documents: Document[] = [];
  const source: BlobSource = {
    name: 'a medium',
    size: async (digest) => blobs.get(digest)?.byteLength,
    open: async (digest) => once(blobs.get(digest) ?? Buffer.alloc(0)),
  };
  const add = (role: string, bytes: Buffer, listed = true): Digest => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    const mediaType = role === 'secrets' ? SEALED_SECRETS : 'application/json';
    if (listed) documents.push({ role, digest, size: bytes.byteLength, mediaType, site: 'plant-7' });
    return digest;
  };
  return { source, documents, add };
};

it('readSecretSets returns name and size of sets that are present, missing, or named by no statement', async () => {
  const { source, documents, add } = medium();
  const vpn = add('secrets', Buffer.alloc(300, 1));
  const mqtt = add('secrets', Buffer.alloc(200, 2), false);
  const stray = add('secrets', Buffer.alloc(100, 3));
  const gone = digestOf('gone');
  const subjects = [
    { name: 'secrets/vpn', digest: vpn },
    { name: 'secrets/mqtt', digest: mqtt },
    { name: 'secrets/gone', digest: gone },
    { name: 'secrets/../\u001b[31m', digest: vpn },
    { name: 'site-values', digest: stray },
  ];
  add('site', await signPayload(encodeStatement(subjects, PREDICATES.site, {}), newSigningKey()));
  expect(await readSecretSets(source, documents)).toEqual([
    { site: 'plant-7', name: 'gone', digest: gone, bytes: undefined },
    { site: 'plant-7', name: 'mqtt', digest: mqtt, bytes: undefined },
    { site: 'plant-7', name: 'vpn', digest: vpn, bytes: 300 },
    { site: 'plant-7', name: undefined, digest: stray, bytes: 100 },
  ]);
});

it('readSecretSets ignores a statement that cannot be read', async () => {
  const { source, documents, add } = medium();
  add('site', Buffer.from('no statement'));
  expect(await readSecretSets(source, documents)).toEqual([]);
});
