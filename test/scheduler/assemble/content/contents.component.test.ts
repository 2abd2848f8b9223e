import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { FetchContent } from '../../../../scheduler/assemble/content/content.ts';
import { contentCache, openContents } from '../../../../scheduler/assemble/content/contents.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const URL = 'https://models.example/m';
const BYTES = Buffer.from('weights');
const LOCK = { digest: digestOf(BYTES), size: BYTES.length };
const at = { file: 'package.yaml', line: 3, column: 5 };
const { signal } = new AbortController();

const world = async () => {
  const folder = await temporaryDirectory('contents');
  const cache = contentCache(folder.path);
  const asked: string[] = [];
  const fetch: FetchContent = async (url, expected) => {
    asked.push(url);
    if (expected?.digest !== LOCK.digest) throw new FleetError('DIGEST_MISMATCH', 'it is another file');
    await cache.write(LOCK.digest, LOCK.size, BYTES);
    return LOCK;
  };
  const released = openBlobDirectory(join(folder.path, 'releases'));
  const want = (sha256?: Digest, locks = new Map<string, typeof LOCK>()) =>
    openContents(cache, fetch, released)({ url: URL, sha256, at }, { files: locks, debs: new Map() }, signal);
  return { cache, released, asked, want, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

test('an address without a lock is CONTENT_UNPINNED with its position, and is not fetched', async () => {
  await using it = await world();
  await expect(it.want()).rejects.toMatchObject({ code: 'CONTENT_UNPINNED', at });
  expect(it.asked).toEqual([]);
});

test('a locked address is fetched once, and read from the cache by later runs', async () => {
  await using it = await world();
  const locks = new Map([[URL, LOCK]]);
  expect(await it.want(undefined, locks)).toMatchObject({ ...LOCK, from: { url: URL } });
  expect(await it.want(undefined, locks)).toMatchObject(LOCK);
  expect(it.asked).toEqual([URL]);
});

test('a sha256 beside the url replaces the lock, and must not contradict it', async () => {
  await using it = await world();
  expect(await it.want(LOCK.digest)).toMatchObject(LOCK);
  const locks = new Map([[URL, { ...LOCK, digest: digestOf('other') }]]);
  await expect(it.want(LOCK.digest, locks)).rejects.toMatchObject({ code: 'CONTENT_UNPINNED', at });
});

test('a download that fails is reported with the position of its declaration', async () => {
  await using it = await world();
  await expect(it.want(digestOf('other'))).rejects.toMatchObject({ code: 'DIGEST_MISMATCH', at });
});

test('content of an earlier bundle is read from the layout, not from its server', async () => {
  await using it = await world();
  await it.released.write(LOCK.digest, LOCK.size, BYTES);
  expect(await it.want(LOCK.digest)).toMatchObject({ ...LOCK, source: it.released, from: { url: URL } });
  expect(it.asked).toEqual([]);
});
