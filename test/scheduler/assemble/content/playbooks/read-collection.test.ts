import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryContent } from '../../../../../scheduler/assemble/content/memory-content.ts';
import { readCollection } from '../../../../../scheduler/assemble/content/playbooks/read-collection.ts';
import { tar } from '../make-deb.ts';
import { runs } from '../../../../harness/run/long.ts';

const read = (bytes: Buffer) => readCollection(memoryContent(bytes, 'a test'), new AbortController().signal);
const manifest = (info: object): string => JSON.stringify({ collection_info: info });
const GOOD = { namespace: 'factory', name: 'printer', version: '1.2.0' };
const good = gzipSync(tar({ 'MANIFEST.json': manifest(GOOD), 'FILES.json': '{}' }));

test('a collection is read from its MANIFEST.json', async () => {
  expect(await read(good)).toEqual(GOOD);
});

test('a collection that is truncated within its MANIFEST.json is refused as damaged', async () => {
  const cut = gzipSync(
    tar({ 'MANIFEST.json': manifest({ ...GOOD, text: 'x'.repeat(2000) }) }).subarray(0, 1024),
  );
  await expect(read(cut)).rejects.toMatchObject({
    code: 'CONTENT_INVALID',
    message: expect.stringContaining('a damaged one') as string,
  });
});

test.each([
  ['no archive', Buffer.from('<html>'), 'it is not a gzip archive, or a damaged one'],
  ['one that is not compressed', tar({ 'MANIFEST.json': manifest(GOOD) }), 'it is not a gzip archive'],
  [
    'the archive of a repository',
    gzipSync(tar({ 'printer-main/galaxy.yml': '' })),
    'it has no MANIFEST.json',
  ],
  ['one that is half a document', gzipSync(tar({ 'MANIFEST.json': '{' })), 'its MANIFEST.json is not JSON'],
  ['one that is null', gzipSync(tar({ 'MANIFEST.json': 'null' })), 'its MANIFEST.json has no namespace'],
  [
    'one with a path for a name',
    gzipSync(tar({ 'MANIFEST.json': manifest({ ...GOOD, name: '../x' }) })),
    'its MANIFEST.json has no name',
  ],
  [
    'one with a path for a version',
    gzipSync(tar({ 'MANIFEST.json': manifest({ ...GOOD, version: '1.0.0/..' }) })),
    'its MANIFEST.json has no version',
  ],
])('%s is refused as a collection', async (_, bytes, why) => {
  await expect(read(bytes)).rejects.toMatchObject({
    code: 'CONTENT_INVALID',
    message: expect.stringContaining(why) as string,
  });
});

test('a MANIFEST.json beyond the unpacking limit is not searched for', async () => {
  const late = gzipSync(tar({ zeros: '0'.repeat(5000), 'MANIFEST.json': manifest(GOOD) }));
  const { signal } = new AbortController();
  expect(await readCollection(memoryContent(late, 'a test'), signal, 5000)).toEqual(GOOD);
  const refused = readCollection(memoryContent(late, 'a test'), signal, 4999);
  await expect(refused).rejects.toMatchObject({
    code: 'CONTENT_INVALID',
    message: expect.stringContaining('it has no MANIFEST.json') as string,
  });
});

test('any bytes are refused with CONTENT_INVALID, gzipped or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.boolean(), async (bytes, packed) => {
      const content = packed ? gzipSync(bytes) : Buffer.from(bytes);
      const error = await read(content).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'CONTENT_INVALID' });
    }),
    { numRuns: runs(60) },
  );
});
