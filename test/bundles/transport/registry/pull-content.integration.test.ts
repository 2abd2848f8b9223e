import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { verified } from '#bundles/formats/layout/verified';
import { impatientClient, readAll, startHostileServer, thrownBy } from './hostile-server.ts';

const BLOB = randomBytes(600_000);
const DIGEST = digestOf(BLOB);

const rangeOf = (header: string | undefined): number =>
  Number(/^bytes=([0-9]+)-$/.exec(header ?? '')?.[1] ?? 0);

describe.concurrent('a registry that cuts every connection', () => {
  const fail = (server: { readonly host: string }, blobs: number) => async () => {
    await using client = impatientClient(server.host);
    for (let n = 0; n < blobs; n += 1) {
      const reading = client
        .repository('a')
        .blobs.open(DIGEST)
        .then((content) => readAll(content));
      expect(await thrownBy(() => reading)).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    }
    return client.delays;
  };

  it('costs the retry budget of one blob for six concurrent reads, before and after the response head', async () => {
    await using headless = await startHostileServer((_request, response) => {
      response.destroy();
    });
    await using bodiless = await startHostileServer((_request, response) => {
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      response.flushHeaders();
      setImmediate(() => response.destroy());
    });
    for (const server of [headless, bodiless])
      expect(await fail(server, 6)()).toEqual([500, 1000, 2000, 4000]);
  });

  it('costs one blob its own number of tries when connections fail before and after the head', async () => {
    await using server = await startHostileServer((_request, response, nth) => {
      if (nth % 2 === 0) {
        response.destroy();
        return;
      }
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      response.flushHeaders();
      setImmediate(() => response.destroy());
    });
    expect(await fail(server, 1)()).toEqual([500, 1000, 2000, 4000]);
    expect(server.seen).toHaveLength(5);
  });
});

describe.concurrent('a blob whose connection breaks', () => {
  it('resumes with a range request, as often as it makes progress', async () => {
    await using server = await startHostileServer((request, response) => {
      const from = rangeOf(request.headers.range);
      const end = Math.min(from + 70_000, BLOB.byteLength);
      response.writeHead(from ? 206 : 200, {
        'content-length': BLOB.byteLength - from,
        ...(from && { 'content-range': `bytes ${from}-${BLOB.byteLength - 1}/${BLOB.byteLength}` }),
      });
      response.write(BLOB.subarray(from, end), () => {
        if (end < BLOB.byteLength) response.destroy();
        else response.end();
      });
    });
    await using client = impatientClient(server.host);
    const content = await readAll(await client.repository('a').blobs.open(DIGEST));
    expect(digestOf(content)).toBe(DIGEST);
    const starts = server.seen.map(({ headers }) => rangeOf(headers.range));
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts.length).toBeGreaterThan(6);
    expect(new Set(client.delays)).toEqual(new Set([500]));
  });

  it('resumes with a registry without ranges, and yields no byte twice', async () => {
    await using server = await startHostileServer((_request, response, nth) => {
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      if (nth === 3) response.end(BLOB);
      else response.write(BLOB.subarray(0, 200_000 * nth), () => response.destroy());
    });
    await using client = impatientClient(server.host);
    expect(digestOf(await readAll(await client.repository('a').blobs.open(DIGEST)))).toBe(DIGEST);
    expect(server.seen).toHaveLength(3);
  });

  it('resumes when the registry or a proxy answers 416 to a range request', async () => {
    await using server = await startHostileServer((request, response) => {
      if (request.headers.range !== undefined) {
        response.writeHead(416, { 'content-length': 0, 'content-range': `bytes */${BLOB.byteLength}` }).end();
        return;
      }
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      const isFirst = server.seen.length === 1;
      response.write(isFirst ? BLOB.subarray(0, 70_000) : BLOB, () => isFirst && response.destroy());
    });
    await using client = impatientClient(server.host);
    expect((await readAll(await client.repository('a').blobs.open(DIGEST))).equals(BLOB)).toBe(true);
    expect(server.seen.map(({ headers }) => headers.range !== undefined)).toEqual([false, true, false]);
  });

  it('resumes when the range of the response starts earlier than requested', async () => {
    await using server = await startHostileServer((request, response, nth) => {
      const from = Math.max(0, rangeOf(request.headers.range) - 1000);
      if (nth === 1) {
        response.writeHead(200, { 'content-length': BLOB.byteLength });
        response.write(BLOB.subarray(0, 300_000), () => response.destroy());
        return;
      }
      response.writeHead(206, { 'content-range': `bytes ${from}-599999/600000` });
      response.end(BLOB.subarray(from));
    });
    await using client = impatientClient(server.host);
    expect(digestOf(await readAll(await client.repository('a').blobs.open(DIGEST)))).toBe(DIGEST);
  });

  it('refuses a range that was not requested', async () => {
    await using server = await startHostileServer((_request, response, nth) => {
      if (nth > 1) {
        response.writeHead(206, { 'content-range': 'bytes 599000-599999/600000' });
        response.end(BLOB.subarray(599_000));
        return;
      }
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      response.write(BLOB.subarray(0, 300_000), () => response.destroy());
    });
    await using client = impatientClient(server.host);
    const content = await client.repository('a').blobs.open(DIGEST);
    expect(await thrownBy(() => readAll(content))).toMatchObject({
      code: 'REGISTRY_REFUSED',
      message: expect.stringContaining('another range than was requested'),
    });
  });

  it('fails after tries without progress, and the error states the bytes received', async () => {
    await using server = await startHostileServer((request, response) => {
      const from = rangeOf(request.headers.range);
      response.writeHead(from ? 206 : 200, {
        'content-length': BLOB.byteLength - from,
        'content-range': `bytes ${from}-599999/600000`,
      });
      if (from) response.destroy();
      else response.write(BLOB.subarray(0, 1000), () => response.destroy());
    });
    await using client = impatientClient(server.host);
    const content = await client.repository('prod/line').blobs.open(DIGEST);
    const error = await thrownBy(() => readAll(content));
    expect(error).toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
    expect((error as Error).message).toBe(
      `reading ${DIGEST.slice(0, 19)} in ${server.host}/factory/prod/line, after 1000 of 600000 bytes: ${server.host} cut the connection`,
    );
  });

  it('in the middle without an error resumes after the body timeout', async () => {
    await using server = await startHostileServer((request, response) => {
      const from = rangeOf(request.headers.range);
      response.writeHead(from ? 206 : 200, {
        'content-length': BLOB.byteLength - from,
        'content-range': `bytes ${from}-599999/600000`,
      });
      if (from) response.end(BLOB.subarray(from));
      else response.write(BLOB.subarray(0, 100_000));
    });
    await using client = impatientClient(server.host);
    expect(digestOf(await readAll(await client.repository('a').blobs.open(DIGEST)))).toBe(DIGEST);
    expect(server.seen).toHaveLength(2);
  });
});

describe.concurrent('a blob', () => {
  it('without an end is cut off at the announced size by verified()', async () => {
    let written = 0;
    await using server = await startHostileServer((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(BLOB)) written += BLOB.byteLength;
        response.once('drain', more);
      };
      more();
    });
    await using client = impatientClient(server.host);
    const content = await client.repository('a').blobs.open(DIGEST);
    const error = await thrownBy(() => readAll(verified(DIGEST, 5_000_000, content, 'x')));
    expect(error).toMatchObject({ code: 'SIZE_MISMATCH' });
    expect(written).toBeLessThan(60_000_000);
  });

  it('is read with back-pressure: a slow reader does not fill the memory', async () => {
    let written = 0;
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, { 'content-length': 200 * BLOB.byteLength });
      const more = (): void => {
        while (written < 200 && response.write(BLOB)) written++;
        if (written < 200) response.once('drain', more);
      };
      more();
    });
    await using client = impatientClient(server.host);
    const content = (await client.repository('a').blobs.open(DIGEST))[Symbol.asyncIterator]();
    await content.next();
    await new Promise((resolve) => setTimeout(resolve, 400));
    // What lies in the sockets' buffers, of 120 MB; and to read slowly is not to hang.
    expect(written).toBeLessThan(40);
    expect((await content.next()).done).toBe(false);
    await content.return?.();
  });

  it("stops at once when the reader's signal aborts", async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, { 'content-length': BLOB.byteLength });
      response.write(BLOB.subarray(0, 1000));
    });
    await using client = impatientClient(server.host, { patience: { body: 60_000 } });
    const stop = new AbortController();
    const content = await client.repository('a').blobs.open(DIGEST, stop.signal);
    const reading = thrownBy(() => readAll(content));
    setTimeout(() => stop.abort(), 20);
    expect(await reading).toMatchObject({ name: 'AbortError' });
    expect(client.delays).toEqual([]);
  });

  it('that is a manifest is read from /manifests/, and directly there the next time', async () => {
    await using server = await startHostileServer((request, response) => {
      if (!request.url.includes('/manifests/')) response.writeHead(404);
      else response.writeHead(200, { 'content-length': BLOB.byteLength });
      response.end(request.method === 'GET' && request.url.includes('/manifests/') ? BLOB : undefined);
    });
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await blobs.size(DIGEST)).toBe(BLOB.byteLength);
    expect(digestOf(await readAll(await blobs.open(DIGEST)))).toBe(DIGEST);
    expect(server.seen.map(({ method, url }) => `${method} ${url.split('/')[4]}`)).toEqual([
      'HEAD blobs',
      'HEAD manifests',
      'GET manifests',
    ]);
  });

  it('that is absent is MISSING_BLOB, and has no size', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(404).end();
    });
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await blobs.size(DIGEST)).toBeUndefined();
    expect(await thrownBy(() => blobs.open(DIGEST))).toMatchObject({
      code: 'MISSING_BLOB',
      subject: DIGEST,
    });
    expect(client.delays).toEqual([]);
  });
});
