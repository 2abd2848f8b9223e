import { describe, expect, it } from 'vitest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { digestOf } from '#bundles/digest';
import { findManifest, readManifest } from '#bundles/formats/layout/read-manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { impatientClient, type Seen, startHostileServer, thrownBy } from './hostile-server.ts';

const STATEMENT = Buffer.from('a statement');
const MANIFEST = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, layers: [] }));
const [BLOB, NAMED] = [digestOf(STATEMENT), digestOf(MANIFEST)];
const PLACES = new Map([
  [`/v2/factory/a/blobs/${BLOB}`, STATEMENT],
  [`/v2/factory/a/manifests/${NAMED}`, MANIFEST],
]);

const startGoodServer = () =>
  startHostileServer(({ url, method }, response) => {
    const bytes = PLACES.get(url);
    response.writeHead(bytes ? 200 : 404, bytes && { 'content-length': bytes.byteLength });
    response.end(method === 'GET' ? bytes : undefined);
  });

const lines = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ method, url }) => `${method} ${url.replace('/v2/factory/a/', '')}`);

describe('a small blob or manifest read as a whole', () => {
  it('takes one request, for a blob, a known manifest, and a manifest seen before', async () => {
    await using server = await startGoodServer();
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await readBlob(blobs, BLOB, 1000)).toEqual(STATEMENT);
    expect(await readManifest(blobs, NAMED)).toEqual(MANIFEST);
    expect(await readBlob(blobs, NAMED, 1000)).toEqual(MANIFEST);
    expect(lines(server.seen)).toEqual([
      `GET blobs/${BLOB}`,
      `GET manifests/${NAMED}`,
      `GET manifests/${NAMED}`,
    ]);
  });

  it('is requested at the other endpoint when the likelier one answers 404', async () => {
    await using server = await startGoodServer();
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await readBlob(blobs, NAMED, 1000)).toEqual(MANIFEST);
    expect(await readManifest(blobs, BLOB)).toEqual(STATEMENT);
    expect(lines(server.seen)).toEqual([
      `GET blobs/${NAMED}`,
      `GET manifests/${NAMED}`,
      `GET manifests/${BLOB}`,
      `GET blobs/${BLOB}`,
    ]);
  });

  it('that is absent fails as in any other source: MISSING_BLOB', async () => {
    await using server = await startGoodServer();
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    const absent = digestOf('absent');
    expect(await findManifest(blobs, absent)).toBeUndefined();
    expect(await thrownBy(() => readBlob(blobs, absent, 1000))).toMatchObject({
      code: 'MISSING_BLOB',
      message: `blob ${absent.slice(0, 19)} is not in registry ${server.host}/factory/a`,
    });
  });

  it('with an announced size above the limit is refused unread', async () => {
    let sent = 0;
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, { 'content-length': 1e12 });
      const more = (): void => {
        while (!response.destroyed && sent < 1e9) {
          sent += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return;
        }
      };
      response.on('drain', more);
      more();
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => readBlob(client.repository('a').blobs, BLOB, 1000))).toMatchObject({
      code: 'TOO_LARGE',
      message: `blob ${BLOB.slice(0, 19)} in registry ${server.host}/factory/a has 1000000000000 bytes, at most 1000 are read`,
    });
    expect(server.seen).toHaveLength(1);
    expect(sent).toBeLessThan(64 << 20);
  });

  it('a body without Content-Length is read up to the limit and compared with its digest', async () => {
    await using server = await startHostileServer(({ url }, response) => {
      // Without a length, Node sends it in chunks.
      if (url.endsWith(BLOB)) response.write(STATEMENT.subarray(0, 4));
      else response.write(MANIFEST.subarray(0, 4));
      response.end(STATEMENT.subarray(4));
    });
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await readBlob(blobs, BLOB, STATEMENT.byteLength)).toEqual(STATEMENT);
    expect(await thrownBy(() => readBlob(blobs, BLOB, STATEMENT.byteLength - 1))).toMatchObject({
      code: 'TOO_LARGE',
    });
    expect(await thrownBy(() => readBlob(blobs, NAMED, 1000))).toMatchObject({ code: 'DIGEST_MISMATCH' });
  });

  it('resumes when the connection breaks', async () => {
    await using server = await startHostileServer(({ headers }, response) => {
      const from = Number(/^bytes=([0-9]+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      const end = STATEMENT.byteLength - 1;
      response.writeHead(from ? 206 : 200, {
        'content-length': STATEMENT.byteLength - from,
        ...(from && { 'content-range': `bytes ${from}-${end}/${STATEMENT.byteLength}` }),
      });
      response.write(STATEMENT.subarray(from, from + 4), () => {
        if (from + 4 > end) response.end();
        else response.destroy();
      });
    });
    await using client = impatientClient(server.host);
    expect(await readBlob(client.repository('a').blobs, BLOB, 1000)).toEqual(STATEMENT);
    expect(server.seen.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=4-', 'bytes=8-']);
  });
});

describe('a blob that somebody declared to be a manifest', () => {
  /** As docker-registry, which finds the blob and cannot read it as what it is not. */
  const startDocker = (isDown = false) =>
    startHostileServer(({ url, method }, response) => {
      const [, kind, digest = ''] = /\/(blobs|manifests)\/(.*)$/.exec(url) ?? [];
      const bytes = kind === 'blobs' && digest === BLOB && !isDown ? STATEMENT : undefined;
      const refusal = kind === 'manifests' && digest === BLOB ? 500 : 404;
      const status = bytes ? 200 : refusal;
      response.writeHead(status, bytes && { 'content-length': bytes.byteLength });
      response.end(method === 'GET' ? bytes : undefined);
    });
  /** What makes a client believe it: an index that says so. */
  const INDEX = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      manifests: [{ mediaType: OCI_MANIFEST, digest: BLOB, size: STATEMENT.byteLength }],
    }),
  );

  it('is found among the blobs at once when /manifests/ answers 500, and directly there the next time', async () => {
    await using server = await startDocker();
    await using client = impatientClient(server.host);
    const { blobs } = client.repository('a');
    expect(await readManifest(blobs, BLOB)).toEqual(STATEMENT);
    expect(await readBlob(blobs, BLOB, 1000)).toEqual(STATEMENT);
    expect(client.delays).toEqual([]);
    expect(lines(server.seen)).toEqual([`GET manifests/${BLOB}`, `GET blobs/${BLOB}`, `GET blobs/${BLOB}`]);
  });

  it('has a size although /manifests/ answers 500', async () => {
    await using docker = await startHostileServer(({ url, method }, response) => {
      const blob = url.includes('/blobs/') ? STATEMENT : undefined;
      const bytes = url.endsWith('/manifests/index') ? INDEX : blob;
      response.writeHead(bytes ? 200 : 500, bytes && { 'content-length': bytes.byteLength });
      response.end(method === 'GET' ? bytes : undefined);
    });
    await using client = impatientClient(docker.host);
    const repository = client.repository('a');
    await repository.fetchManifest('index');
    for (let n = 0; n < 2; n++) expect(await repository.blobs.size(BLOB)).toBe(STATEMENT.byteLength);
    expect(client.delays).toEqual([]);
    expect(lines(docker.seen).slice(1)).toEqual([
      `HEAD manifests/${BLOB}`,
      `HEAD blobs/${BLOB}`,
      `HEAD blobs/${BLOB}`,
    ]);
  });

  it('uses the retry budget of the registry when every endpoint answers 500', async () => {
    const children = ['one', 'two', 'three'].map((text) => digestOf(text));
    const manifests = children.map((digest) => ({ mediaType: OCI_MANIFEST, digest, size: 3 }));
    await using server = await startHostileServer(({ url }, response) => {
      if (url.endsWith('/manifests/index')) response.end(JSON.stringify({ schemaVersion: 2, manifests }));
      else response.writeHead(500).end();
    });
    await using client = impatientClient(server.host);
    const repository = client.repository('a');
    await repository.fetchManifest('index');
    for (const digest of children)
      expect(await thrownBy(() => repository.blobs.size(digest))).toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
      });
    expect(client.delays).toEqual([500, 1000, 2000, 4000]);
  });

  it('that no endpoint has is retried, then REGISTRY_UNREACHABLE', async () => {
    await using server = await startDocker(true);
    await using client = impatientClient(server.host);
    const error = await thrownBy(() => readManifest(client.repository('a').blobs, BLOB));
    expect(error).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: expect.stringContaining(`${server.host} answered 500 to GET`),
    });
    expect(client.delays).toEqual([500, 1000, 2000, 4000]);
  });
});
