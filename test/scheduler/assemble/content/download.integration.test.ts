import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import { contentCache } from '../../../../scheduler/assemble/content/contents.ts';
import { openContentPlaces } from '../../../../scheduler/assemble/content/download.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const BYTES = Buffer.alloc(300_000, 'weights');
const LOCK = { digest: digestOf(BYTES), size: BYTES.length };
const { signal } = new AbortController();

const OPTIONS = { plainHttp: [], env: {}, sleep: async () => {}, random: () => 0 };

const world = async (listener: RequestListener, maxBytes = 1 << 20) => {
  const folder = await temporaryDirectory('download');
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.range);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const places = openContentPlaces(folder.path, { ...OPTIONS, maxBytes });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`;
  const partials = join(folder.path, 'content', 'partial');
  return {
    url,
    asked,
    fetch: (expected?: { digest: typeof LOCK.digest; size?: number }) => places.fetch(url, expected, signal),
    stored: () => contentCache(folder.path).size(LOCK.digest),
    partials: async () => (await readdir(partials)).filter((name) => !name.endsWith('.lock')),
    /** Another process with the same cache. */
    beside: () => openContentPlaces(folder.path, OPTIONS),
    cache: contentCache(folder.path),
    /** What a run before left. */
    leave: async (bytes: Buffer) => {
      await mkdir(partials, { recursive: true });
      await writeFile(join(partials, hexOf(digestOf(`${url} ${LOCK.digest}`))), bytes);
    },
    [Symbol.asyncDispose]: async () => {
      await places[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
};

/** Serves ranges; `cut` ends the first answer after so many bytes. */
const ranges =
  (cut = Number.POSITIVE_INFINITY, headers: Readonly<Record<string, string>> = {}): RequestListener =>
  (request, response) => {
    const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const part = BYTES.subarray(from);
    const range = from > 0 ? { 'content-range': `bytes ${from}-${BYTES.length - 1}/${BYTES.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': part.length, ...range, ...headers });
    if (from > 0 || part.length <= cut) return void response.end(part);
    response.write(part.subarray(0, cut), () => response.destroy());
  };

test('stores a download in the cache under its digest, and leaves no other file', async () => {
  await using it = await world(ranges());
  expect(await it.fetch()).toEqual(LOCK);
  expect(await it.stored()).toBe(LOCK.size);
  expect(await it.partials()).toEqual([]);
});

test('a broken download resumes with a range request', async () => {
  await using it = await world(ranges(200_000));
  expect(await it.fetch(LOCK)).toEqual(LOCK);
  expect(it.asked).toEqual([undefined, 'bytes=200000-']);
});

test('resumes a download without a known digest only with a strong validator; otherwise it restarts', async () => {
  await using tagged = await world(ranges(200_000, { etag: '"one"' }));
  expect(await tagged.fetch()).toEqual(LOCK);
  expect(tagged.asked).toEqual([undefined, 'bytes=200000-']);
  let times = 0;
  await using weak = await world((request, response) =>
    ranges(times++ === 0 ? 200_000 : undefined, { etag: 'W/"one"' })(request, response),
  );
  expect(await weak.fetch()).toEqual(LOCK);
  expect(weak.asked).toEqual([undefined, undefined]);
});

test('a partial download of an earlier run is resumed, and fetched whole when it is damaged', async () => {
  await using it = await world(ranges());
  await it.leave(BYTES.subarray(0, 100_000));
  expect(await it.fetch(LOCK)).toEqual(LOCK);
  expect(it.asked).toEqual(['bytes=100000-']);
  await using damaged = await world(ranges());
  await damaged.leave(Buffer.alloc(100_000, 'x'));
  expect(await damaged.fetch(LOCK)).toEqual(LOCK);
  expect(damaged.asked).toEqual(['bytes=100000-', undefined]);
});

test('two processes that download the same file at the same time do not mix their bytes', async () => {
  await using it = await world((_, response) => {
    response.writeHead(200, { 'content-length': BYTES.length });
    let at = 0;
    const next = (): void => {
      if (at >= BYTES.length) return void response.end();
      response.write(BYTES.subarray(at, (at += 30_000)), () => setTimeout(next, 1));
    };
    next();
  });
  await using beside = it.beside();
  const got = await Promise.all([it.fetch(LOCK), beside.fetch(it.url, LOCK, signal)]);
  expect(got).toEqual([LOCK, LOCK]);
  expect(digestOf(await readBlob(it.cache, LOCK.digest, LOCK.size))).toBe(LOCK.digest);
  expect(await it.partials()).toEqual([]);
});

test("content with another digest than the lock's is refused and not kept", async () => {
  await using it = await world(ranges());
  await expect(it.fetch({ digest: digestOf('other') })).rejects.toMatchObject({
    code: 'DIGEST_MISMATCH',
    message: `${it.url} is ${LOCK.digest}, expected ${digestOf('other')}`,
  });
  expect([await it.stored(), await it.partials()]).toEqual([undefined, []]);
});

test('content above the limit is not read to its end, with and without an announced size', async () => {
  await using long = await world(ranges(), 1000);
  await expect(long.fetch()).rejects.toMatchObject({ code: 'TOO_LARGE' });
  await using unsaid = await world((_, response) => {
    response.writeHead(200);
    response.write(BYTES);
  }, 1000);
  await expect(unsaid.fetch()).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(await unsaid.partials()).toEqual([]);
});

test('a 404 is reported at once, a 503 is retried', async () => {
  await using gone = await world((_, response) => void response.writeHead(404).end());
  await expect(gone.fetch()).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
    message: `${gone.url} was answered with 404`,
  });
  expect(gone.asked).toHaveLength(1);
  let times = 0;
  await using busy = await world((request, response) =>
    times++ < 2 ? void response.writeHead(503).end() : ranges()(request, response),
  );
  expect(await busy.fetch()).toEqual(LOCK);
});
