import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { digestOf } from '#bundles/digest';
import { type FleetError, formatError } from '#bundles/errors';
import { impatientClient, inChunks, readAll, startHostileServer, thrownBy } from '../hostile-server.ts';

const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [],
});

describe.concurrent('a registry that fails temporarily', () => {
  it.each([500, 502, 503, 504, 429, 408])('with %d is retried', async (status) => {
    await using server = await startHostileServer((_request, response, nth) => {
      response.writeHead(nth < 4 ? status : 200).end(MANIFEST);
    });
    await using client = impatientClient(server.host);
    const found = await client.repository('a').fetchManifest('release');
    expect(found?.bytes.toString()).toBe(MANIFEST);
    expect(client.delays).toEqual([500, 1000, 2000]);
  });

  it('with Retry-After is retried after that time, in seconds or as a date', async () => {
    await using server = await startHostileServer((_request, response, nth) => {
      const headers: Record<string, string> =
        nth === 1
          ? { 'retry-after': '11' }
          : { 'retry-after': 'Wed, 01 Jan 2003 00:00:33 GMT', date: 'Wed, 01 Jan 2003 00:00:00 GMT' };
      response.writeHead(nth < 3 ? 429 : 200, headers).end(MANIFEST);
    });
    await using client = impatientClient(server.host);
    await client.repository('a').fetchManifest('release');
    expect(client.delays).toEqual([11_000, 33_000]);
  });

  it('with 400 and MANIFEST_BLOB_UNKNOWN, a read that raced with a write, is retried', async () => {
    const errors = [{ code: 'DIGEST_INVALID' }, { code: 'MANIFEST_BLOB_UNKNOWN' }];
    await using server = await startHostileServer((_request, response, nth) => {
      response.writeHead(nth < 2 ? 400 : 201).end(nth < 2 ? JSON.stringify({ errors }) : '');
    });
    await using client = impatientClient(server.host);
    await client.repository('a').pushManifest('release', { mediaType: 'x/y', bytes: Buffer.from(MANIFEST) });
    expect(client.delays).toEqual([500]);
  });

  it('with MANIFEST_BLOB_UNKNOWN, for content that was collected since it was checked, names that and the way', async () => {
    const errors = [{ code: 'MANIFEST_BLOB_UNKNOWN', message: 'blob unknown to registry' }];
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(404).end(JSON.stringify({ errors }));
    });
    await using client = impatientClient(server.host);
    const pushed = client
      .repository('a')
      .pushManifest('release', { mediaType: 'x/y', bytes: Buffer.from(MANIFEST) });
    await expect(pushed).rejects.toMatchObject({
      code: 'REGISTRY_REFUSED',
      hint: expect.stringContaining('it sends what is missing'),
    });
    expect(server.seen).toHaveLength(1);
  });

  it('by a timeout, or a break before or in the response, is retried', async () => {
    await using server = await startHostileServer((_request, response, nth) => {
      if (nth === 1) response.destroy();
      if (nth === 2) return;
      if (nth === 3)
        response
          .writeHead(200, { 'content-length': MANIFEST.length })
          .write(MANIFEST.slice(0, 5), () => response.destroy());
      if (nth === 4) response.end(MANIFEST);
    });
    await using client = impatientClient(server.host);
    expect((await client.repository('a').fetchManifest('release'))?.bytes.toString()).toBe(MANIFEST);
    expect(client.delays).toHaveLength(3);
  });

  it('until the tries are used up is reported once, with the error of the registry', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(503).end(
        JSON.stringify({
          errors: [{ code: 'UNAVAILABLE', message: 'storage is\u001b[31m away\r\n', detail: {} }],
        }),
      );
    });
    await using client = impatientClient(server.host);
    const error = (await thrownBy(() => client.repository('prod/line').tags())) as FleetError;
    expect(error).toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
    expect(error.message).toBe(
      `listing the tags of ${server.host}/factory/prod/line: ${server.host} answered 503 (UNAVAILABLE: storage is [31m away) to GET`,
    );
    expect(server.seen).toHaveLength(5);
  });
});

describe.concurrent('a registry that refuses a request', () => {
  it.each([
    [400, 'REGISTRY_REFUSED'],
    [403, 'REGISTRY_DENIED'],
    [405, 'REGISTRY_REFUSED'],
    [413, 'REGISTRY_REFUSED'],
    [451, 'REGISTRY_REFUSED'],
    [200, 'REGISTRY_REFUSED'],
  ])('with %d is not asked again: %s', async (status, code) => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(status).end('<html>go away</html>');
    });
    await using client = impatientClient(server.host);
    const bytes = Buffer.from(MANIFEST);
    const error = await thrownBy(() =>
      client.repository('a').pushManifest('release', { mediaType: 'x/y', bytes }),
    );
    expect(error).toMatchObject({ code, retryable: false });
    expect((error as FleetError).message).toContain(`answered ${status} to PUT`);
    expect(server.seen).toHaveLength(1);
  });

  it('with a very long error list is quoted in under 1,000 characters', async () => {
    await using server = await startHostileServer((_request, response) => {
      const errors = Array.from({ length: 50 }, () => ({ code: 'DENIED', message: 'x'.repeat(1000) }));
      response.writeHead(403).end(JSON.stringify({ errors }));
    });
    await using client = impatientClient(server.host);
    const error = (await thrownBy(() => client.repository('a').tags())) as FleetError;
    expect(formatError(error).length).toBeLessThan(1000);
  });

  it('with an endless body is not read to its end', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(400);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        response.once('drain', more);
      };
      more();
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_REFUSED' });
  });
});

describe.concurrent('a response from a proxy between client and registry', () => {
  const PAGE = { 'content-type': 'text/html; charset=utf-8' };

  it('such as a login page of a captive portal is never accepted as content', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, PAGE).end('<html>log in</html>');
    });
    await using client = impatientClient(server.host);
    const repository = client.repository('a');
    const digest = digestOf('{}');
    const bytes = Buffer.from('{}');
    const asked: readonly (() => Promise<unknown>)[] = [
      () => repository.resolve('release'),
      () => repository.fetchManifest('release'),
      () => repository.tags(),
      () => repository.blobs.size(digest),
      () => repository.blobs.open(digest),
      () => repository.pushBlob({ digest, size: 2 }, async () => inChunks(bytes)),
      () => repository.pushManifest('release', { mediaType: 'x/y', bytes }),
    ];
    for (const ask of asked)
      expect(await thrownBy(ask)).toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
        message: expect.stringMatching(/answered with a web page$/),
        hint: expect.stringContaining('captive portal'),
      });
    expect(client.delays).toEqual([]);
  });

  it('in the middle of a blob is REGISTRY_UNREACHABLE, after the bytes received before', async () => {
    const blob = Buffer.alloc(300_000, 1);
    await using server = await startHostileServer((_request, response, nth) => {
      if (nth > 1) response.writeHead(200, PAGE).end('<html>log in</html>');
      else {
        response.writeHead(200, { 'content-length': blob.byteLength });
        response.write(blob.subarray(0, 100_000), () => response.destroy());
      }
    });
    await using client = impatientClient(server.host);
    const content = await client.repository('a').blobs.open(digestOf(blob));
    expect(await thrownBy(() => readAll(content))).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: expect.stringContaining('after 100000 of 300000 bytes'),
    });
  });

  it('with a Content-Encoding is refused, because its bytes do not match the digest', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(MANIFEST));
    });
    await using client = impatientClient(server.host);
    for (const ask of [
      () => client.repository('a').fetchManifest('release'),
      () => client.repository('a').blobs.open(digestOf(MANIFEST)),
    ])
      expect(await thrownBy(ask)).toMatchObject({
        code: 'REGISTRY_REFUSED',
        message: expect.stringContaining('Content-Encoding gzip'),
        hint: expect.stringContaining('exempt the registry'),
      });
  });
});

describe.concurrent('an unreachable registry', () => {
  it('is tried five times, and then reported with its address', async () => {
    await using server = await startHostileServer(() => {});
    const { host } = server;
    await server[Symbol.asyncDispose]();
    await using client = impatientClient(host);
    const error = (await thrownBy(() => client.repository('a').resolve('release'))) as FleetError;
    expect(error).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(error.message).toBe(`looking for release in ${host}/factory/a: ${host} refuses connections`);
    expect(client.delays).toEqual([500, 1000, 2000, 4000]);
    await using again = impatientClient(host, { plainHttp: [] });
    expect(await thrownBy(() => again.repository('a').resolve('release'))).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: error.message,
    });
  });

  it('is not tried again after the caller aborts', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(503).end();
    });
    const stop = new AbortController();
    await using client = impatientClient(server.host, {
      sleep: async (_ms, signal) => {
        stop.abort();
        signal?.throwIfAborted();
      },
    });
    expect(await thrownBy(() => client.repository('a').tags(stop.signal))).toMatchObject({
      name: 'AbortError',
    });
    expect(server.seen).toHaveLength(1);
    expect(await thrownBy(() => client.repository('a').tags(stop.signal))).toMatchObject({
      name: 'AbortError',
    });
    expect(server.seen).toHaveLength(1);
  });

  it('that accepts connections and never answers is tried again', async () => {
    const mute = createServer((socket) => {
      // As it then refuses, this need not be waited for five times.
      mute.close();
      socket.on('error', () => {});
    }).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const host = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
    await using client = impatientClient(host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: `listing the tags of ${host}/factory/a: ${host} refuses connections`,
    });
  });
});

describe('a registry on a loopback address', () => {
  it('is reached over plain HTTP when it speaks no TLS, although it is not listed for plain HTTP', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200).end('{"tags":["b","a"]}');
    });
    await using client = impatientClient(server.host, { plainHttp: [] });
    expect(await client.repository('a').tags()).toEqual(['a', 'b']);
  });
});
