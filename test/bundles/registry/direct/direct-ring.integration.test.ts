import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { Buffers } from '#bundles/layout/read-span';
import type { RegistryOptions } from '#bundles/registry/registry';
import { makeAuthority, makeCertificate } from '../../../harness/certificates.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/temporary-directory.ts';
import { impatientClient, thrownBy } from '../hostile-server.ts';
import { answer, drained, goodHead, type Identity, readInto, startRawServer } from './raw-server.ts';

const BLOB = randomBytes(5_000_000);
const DIGEST = digestOf(BLOB);

let folder: TemporaryDirectory;
let identity: Identity;
let ca: string;

beforeAll(async () => {
  folder = await temporaryDirectory();
  const authority = await makeAuthority(folder.path);
  const { certificate, key } = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
  identity = { cert: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
  ca = await readFile(authority.certificate, 'utf8');
});

afterAll(() => folder[Symbol.asyncDispose]());

/** As strict as their contract: when one is taken, the one that was taken three before holds something else. */
const strictBuffers = (size: number): Buffers => {
  const taken: Buffer[] = [];
  return () => {
    taken.push(Buffer.alloc(size));
    if (taken.length > 3) taken.shift()?.fill(0xdd);
    return taken.at(-1) as Buffer;
  };
};

/** Writes a piece while the next one is read, as a writer of files does; what it writes is what is there when it is done. */
const writtenBehind = async (
  content: AsyncIterable<Uint8Array>,
  delays: () => readonly [number, number],
): Promise<string> => {
  const hash = createHash('sha256');
  let written = Promise.resolve();
  for await (const piece of content) {
    const [toHash, toWrite] = delays();
    if (toHash > 0) await sleep(toHash);
    await written;
    written = (async () => {
      if (toWrite > 0) await sleep(toWrite);
      hash.update(piece);
    })();
  }
  await written;
  return `sha256:${hash.digest('hex')}`;
};

const delaysOf = (given: readonly (readonly [number, number])[]) => {
  let n = 0;
  return () => given[n++ % given.length] ?? ([0, 0] as const);
};

const delay = fc.constantFrom(0, 0, 0, 1, 2, 5, 12);
const anyDelays = fc.array(fc.tuple(delay, delay), { minLength: 1, maxLength: 8 });
const anySize = fc.oneof(fc.integer({ min: 40_000, max: 600_000 }), fc.constantFrom(512 << 10, 128 << 10));

const WAYS = [
  { way: 'in the clear', isTls: false },
  { way: 'by TLS', isTls: true },
] as const;

describe.each(WAYS)('$way,', ({ isTls }) => {
  const start = (behave: Parameters<typeof startRawServer>[0]) =>
    startRawServer(behave, isTls ? identity : undefined);
  const clientOf = (server: { readonly host: string }, options: Partial<RegistryOptions> = {}) =>
    impatientClient(server.host, {
      patience: { connect: 20_000, headers: 20_000, body: 20_000 },
      ...(isTls && { ca, plainHttp: [] }),
      ...options,
    });

  it('no piece is overwritten while its reader may still need it', async () => {
    let sizes: readonly number[] = [];
    await using server = await start(async (_request, socket) => {
      const bytes = Buffer.concat([Buffer.from(goodHead(BLOB.byteLength)), BLOB]);
      let at = 0;
      for (let n = 0; at < bytes.byteLength && !socket.destroyed; n++) {
        const size = sizes[n % sizes.length] ?? 1;
        if (!socket.write(bytes.subarray(at, (at += size)))) await drained(socket);
      }
    });
    await using client = clientOf(server);
    const anySizes = fc.array(fc.integer({ min: 5000, max: 900_000 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(anySizes, anyDelays, anySize, async (given, delays, size) => {
        sizes = given;
        const content = await client.repository('a').blobs.open(DIGEST, undefined, strictBuffers(size));
        expect(await writtenBehind(content, delaysOf(delays))).toBe(DIGEST);
      }),
      { numRuns: 25 },
    );
    expect(server.sockets).toHaveLength(1);
    expect(client.delays).toEqual([]);
  });

  it.each(['goes on by ranges', 'begins anew, and is passed over up to there,'])(
    'nor where it is cut and %s',
    async (how) => {
      let left: number[] = [];
      const hasRanges = how.includes('ranges');
      await using server = await start(({ from }, socket) => {
        const begin = hasRanges ? from : 0;
        const bytes = Buffer.concat([Buffer.from(goodHead(BLOB.byteLength, begin)), BLOB.subarray(begin)]);
        const place = left.shift();
        if (place === undefined) socket.write(bytes);
        else socket.write(bytes.subarray(0, place), () => socket.destroy());
      });
      await using client = clientOf(server, { tries: 20 });
      const places = fc.array(fc.integer({ min: 0, max: 6_000_000 }), { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(places, anyDelays, anySize, async (given, delays, size) => {
          left = [...given];
          const content = await client.repository('a').blobs.open(DIGEST, undefined, strictBuffers(size));
          expect(await writtenBehind(content, delaysOf(delays))).toBe(DIGEST);
        }),
        { numRuns: 15 },
      );
    },
  );

  it('nor the last of one blob by tries for the next that come to nothing', async () => {
    const small = randomBytes(1000);
    let heads = 0;
    await using server = await start(({ path }, socket) => {
      if (path.endsWith(digestOf(small))) socket.write(answer(200, small));
      else if (++heads > 4) socket.write(Buffer.concat([Buffer.from(goodHead(BLOB.byteLength)), BLOB]));
      else socket.write(goodHead(BLOB.byteLength), () => socket.end());
    });
    await using client = clientOf(server);
    const buffers = strictBuffers(100_000);
    const { blobs } = client.repository('a');
    const pieces: Uint8Array[] = [];
    for await (const piece of await blobs.open(digestOf(small), undefined, buffers)) pieces.push(piece);
    const next = (await blobs.open(DIGEST, undefined, buffers))[Symbol.asyncIterator]();
    await next.next();
    expect(client.delays.length).toBeGreaterThan(2);
    expect(Buffer.concat(pieces).equals(small)).toBe(true);
    await next.return?.();
  });

  it('a blob that is larger than it was said to be is read all the same', async () => {
    await using server = await start((_request, socket) => {
      socket.write(goodHead(BLOB.byteLength));
      socket.write(BLOB);
    });
    await using client = clientOf(server);
    for (const size of [1000, 3000, 20_000]) {
      const content = await client.repository('a').blobs.open(DIGEST, undefined, strictBuffers(size));
      expect(await writtenBehind(content, () => [0, 0])).toBe(DIGEST);
    }
    expect(client.delays).toEqual([]);
  });

  it('a slow reader makes the other side wait, and is not taken for a hang', async () => {
    const total = 32 << 20;
    let written = 0;
    await using server = await start(async (_request, socket) => {
      const piece = Buffer.alloc(1 << 20);
      socket.write(goodHead(total));
      while (!socket.destroyed && written < total) {
        written += piece.byteLength;
        if (!socket.write(piece)) await drained(socket);
      }
    });
    await using client = clientOf(server, { patience: { connect: 20_000, headers: 20_000, body: 500 } });
    const content = (await client.repository('a').blobs.open(DIGEST, undefined, strictBuffers(512 << 10)))[
      Symbol.asyncIterator
    ]();
    let size = (await content.next()).value?.byteLength ?? 0;
    await sleep(1500);
    expect(written).toBeLessThan(24 << 20);
    for (let piece = await content.next(); !piece.done; piece = await content.next())
      size += piece.value.byteLength;
    expect(size).toBe(total);
    expect(server.seen).toHaveLength(1);
  });

  it('many words about a failure are read, and the connection is used again', async () => {
    const errors = [
      { code: 'DENIED', message: 'no' },
      ...Array.from({ length: 4000 }, () => ({ code: 'N' })),
    ];
    await using server = await start((_request, socket) => {
      socket.write(answer(400, JSON.stringify({ errors })));
    });
    await using client = clientOf(server);
    for (let n = 0; n < 3; n++)
      expect(await thrownBy(() => readInto(client, DIGEST))).toMatchObject({
        message: expect.stringContaining('answered 400 (DENIED: no'),
      });
    expect(server.sockets).toHaveLength(1);
  });

  it('an answer in chunks is read, too', async () => {
    await using server = await start((_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.write(`${BLOB.byteLength.toString(16)}\r\n`);
      socket.write(BLOB);
      socket.write('\r\n0\r\n\r\n');
    });
    await using client = clientOf(server);
    for (let n = 0; n < 2; n++) expect(digestOf(await readInto(client, DIGEST))).toBe(DIGEST);
    expect(server.seen).toHaveLength(3);
  });

  it('an answer that comes before its question is none', async () => {
    const early = answer(200, 'x'.repeat(100_000));
    await using server = await startRawServer(
      (_request, socket) => {
        socket.write(answer(404));
      },
      isTls ? identity : undefined,
      (socket) => socket.write(early),
    );
    await using client = clientOf(server);
    // Whether it came too early or just in time, what it says is held against its digest by whoever reads; nothing breaks.
    const error = await thrownBy(async () => {
      expect((await readInto(client, DIGEST)).toString()).toBe('x'.repeat(100_000));
    });
    if (error !== undefined)
      expect(error).toMatchObject({ code: expect.stringMatching(/^(?:REGISTRY_UNREACHABLE|MISSING_BLOB)$/) });
  });
});

it('a certificate of somebody else is refused', async () => {
  await using server = await startRawServer((_request, socket) => {
    socket.write(answer(404));
  }, identity);
  await using client = impatientClient(server.host, { plainHttp: [] });
  expect(await thrownBy(() => readInto(client, DIGEST))).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
  expect(server.seen).toHaveLength(0);
});
