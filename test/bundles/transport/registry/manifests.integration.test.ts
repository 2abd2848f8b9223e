import { describe, expect, it } from 'vitest';
import { MAX_MANIFEST_BYTES } from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import { impatientClient, startHostileServer, thrownBy } from './hostile-server.ts';

const INDEX = 'application/vnd.oci.image.index.v1+json';
const BYTES = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [] }));
const DIGEST = digestOf(BYTES);
const OTHER = digestOf('other');

describe('a manifest', () => {
  it('has the media type and digest of its bytes, for any Content-Type', async () => {
    await using server = await startHostileServer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'docker-content-digest': DIGEST })
        .end(BYTES);
    });
    await using client = impatientClient(server.host);
    const descriptor = { mediaType: INDEX, digest: DIGEST, size: BYTES.byteLength };
    expect((await client.repository('a').fetchManifest('release'))?.descriptor).toEqual(descriptor);
    expect(server.seen[0]?.headers.accept).toContain(INDEX);
  });

  it.each([
    ['in its body', DIGEST, Buffer.from('{}'), undefined],
    ['in its header', 'release', BYTES, OTHER],
    ['in both', DIGEST, Buffer.from('{}'), digestOf('{}')],
  ])('whose %s does not match its bytes is refused', async (_where, reference, body, said) => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, said && { 'docker-content-digest': said }).end(body);
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').fetchManifest(reference))).toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(server.seen).toHaveLength(1);
  });

  it.each(['announced', 'not announced'])('above the size limit, which was %s, is not read', async (how) => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(200, how === 'announced' ? { 'content-length': MAX_MANIFEST_BYTES + 1 } : {});
      response.end(Buffer.alloc(MAX_MANIFEST_BYTES + 1));
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').fetchManifest('release'))).toMatchObject({
      code: 'TOO_LARGE',
    });
  });

  it('is resolved by one HEAD', async () => {
    await using server = await startHostileServer((_request, response) => {
      response
        .writeHead(200, {
          'content-type': INDEX,
          'docker-content-digest': DIGEST,
          'content-length': BYTES.byteLength,
        })
        .end();
    });
    await using client = impatientClient(server.host);
    expect(await client.repository('a').resolve('release')).toEqual({
      mediaType: INDEX,
      digest: DIGEST,
      size: BYTES.byteLength,
    });
    expect(await thrownBy(() => client.repository('a').resolve(OTHER))).toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(server.seen.map(({ method }) => method)).toEqual(['HEAD', 'HEAD']);
  });

  it('is resolved by a GET when HEAD lacks the digest or is refused', async () => {
    for (const status of [200, 405]) {
      await using server = await startHostileServer((request, response) => {
        response.writeHead(request.method === 'HEAD' ? status : 200).end(BYTES);
      });
      await using client = impatientClient(server.host);
      expect((await client.repository('a').resolve('release'))?.digest).toBe(DIGEST);
    }
  });

  it('that is absent is undefined', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(404).end('{"errors":[{"code":"NAME_UNKNOWN"}]}');
    });
    await using client = impatientClient(server.host);
    const repository = client.repository('a');
    expect(await repository.resolve('release')).toBeUndefined();
    expect(await repository.fetchManifest('release')).toBeUndefined();
    expect(await repository.referrers(DIGEST)).toEqual([]);
    expect(await repository.tags()).toEqual([]);
  });

  it('that the registry reports under another digest after the upload is refused', async () => {
    await using server = await startHostileServer((_request, response) => {
      response.writeHead(201, { 'docker-content-digest': OTHER }).end();
    });
    await using client = impatientClient(server.host);
    const manifest = { mediaType: INDEX, bytes: BYTES };
    expect(await thrownBy(() => client.repository('a').pushManifest('release', manifest))).toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(await thrownBy(() => client.repository('a').pushManifest(OTHER, manifest))).toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(server.seen).toHaveLength(1);
  });

  it.each(['../../../v2/other/manifests/x', 'a b', 'a?b', '', 'x'.repeat(200), 'sha256:1'])(
    'is not requested under %j, which is neither a tag nor a digest',
    async (reference) => {
      await using client = impatientClient('127.0.0.1:1');
      const repository = client.repository('a');
      for (const call of [repository.resolve, repository.fetchManifest])
        expect(await thrownBy(() => call(reference))).toMatchObject({ code: 'NAME_INVALID' });
      expect(() => client.repository(reference === '' ? '//' : '../x')).toThrow(
        /not the name of a repository/,
      );
    },
  );
});

describe('a list of tags', () => {
  const pages: Record<string, [string[] | null, string?]> = {
    '/v2/factory/a/tags/list?n=1000': [['b', 'C'], '</v2/factory/a/tags/list?n=1000&last=C>; rel="next"'],
    '/v2/factory/a/tags/list?n=1000&last=C': [null, '<list?n=1000&last=D>; rel="next"'],
    '/v2/factory/a/tags/list?n=1000&last=D': [['a', 'b']],
  };

  it('is read page by page and sorted bytewise', async () => {
    await using server = await startHostileServer((request, response) => {
      const [tags, link] = pages[request.url] ?? [];
      response.writeHead(200, link === undefined ? {} : { link }).end(JSON.stringify({ name: 'a', tags }));
    });
    await using client = impatientClient(server.host);
    expect(await client.repository('a').tags()).toEqual(['C', 'a', 'b']);
    expect(server.seen).toHaveLength(3);
  });

  it.each([
    ['the same page', () => '</v2/factory/a/tags/list?n=1000>; rel="next"'],
    [
      'ever other pages with nothing new',
      (nth: number) => `</v2/factory/a/tags/list?last=${nth}>; rel="next"`,
    ],
  ])('with cyclic pages, by %s, is refused after few requests', async (_how, link) => {
    await using server = await startHostileServer((_request, response, nth) => {
      response.writeHead(200, { link: link(nth) }).end('{"tags":["a"]}');
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(server.seen.length).toBeLessThan(20);
  });

  it.each([
    ['goes on after the name in `last`', (tags: string[], last: string) => tags.filter((tag) => tag > last)],
    [
      'begins again where nothing comes after `last`, as go-containerregistry does',
      (tags: string[], last: string) => {
        const rest = tags.filter((tag) => tag > last);
        return rest.length > 0 ? rest : tags;
      },
    ],
    ['does not know `last`', (tags: string[]) => tags.slice(0, 1000)],
  ])('that is cut at `n` without a Link is read to its end when the registry %s', async (how, after) => {
    for (const count of [1000, 1001, 2000, 2300]) {
      const tags = Array.from({ length: count }, (_, at) => `t${String(at).padStart(4, '0')}`);
      await using server = await startHostileServer((request, response) => {
        const { searchParams } = new URL(request.url, 'http://registry.example');
        const from = after(tags, searchParams.get('last') ?? '');
        response.end(JSON.stringify({ tags: from.slice(0, Number(searchParams.get('n'))) }));
      });
      await using client = impatientClient(server.host);
      const found = await client.repository('a').tags();
      expect(found).toEqual(how.startsWith('does not') ? tags.slice(0, 1000) : tags);
    }
  });

  it('with a next page on another host is refused, and that host gets no request', async () => {
    await using elsewhere = await startHostileServer((_request, response) => {
      response.end('{"tags":["x"]}');
    });
    await using server = await startHostileServer((_request, response) => {
      response
        .writeHead(200, { link: `<${elsewhere.url}/v2/x/tags/list>; rel="next"` })
        .end('{"tags":["a"]}');
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(elsewhere.seen).toEqual([]);
  });

  it.each(['<html>', '[]', '{"tags":"a"}', '{"tags":["a\\u001b"]}', '{"tags":[1]}', '{"tags":["../x"]}'])(
    'that is invalid is refused: %s',
    async (text) => {
      await using server = await startHostileServer((_request, response) => {
        response.end(text);
      });
      await using client = impatientClient(server.host);
      expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_REFUSED' });
    },
  );
});

describe('referrers of a manifest', () => {
  const referrer = {
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    digest: OTHER,
    size: 7,
    artifactType: 'x/y',
  };
  const list = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [referrer] });

  it('are listed by the API, or by the fallback tag', async () => {
    for (const place of [`referrers/${DIGEST}`, `manifests/${DIGEST.replace(':', '-')}`]) {
      await using server = await startHostileServer((request, response) => {
        const isThere = request.url === `/v2/factory/a/${place}`;
        response.writeHead(isThere ? 200 : 404).end(isThere ? list : '');
      });
      await using client = impatientClient(server.host);
      expect(await client.repository('a').referrers(DIGEST)).toEqual([referrer]);
    }
  });
});
