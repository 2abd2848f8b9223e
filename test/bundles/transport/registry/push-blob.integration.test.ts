import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import {
  type HostileServer,
  type Impatient,
  impatientClient,
  inChunks,
  startHostileServer,
  thrownBy,
} from './hostile-server.ts';

const SMALL = randomBytes(100_000);
/** One chunk and a bit. */
const BIG = randomBytes((16 << 20) + 300_000);

const blobOf = (bytes: Buffer) => ({ digest: digestOf(bytes), size: bytes.byteLength });
const opening = (bytes: Buffer) => async () => inChunks(bytes);

/** What happens to a request of an upload instead of the right thing; undefined for the right thing. */
type Trouble = (request: IncomingMessage, nth: number) => 'cut' | 'handled' | undefined;

type Uploads = HostileServer & {
  readonly kept: Map<string, Buffer>;
  readonly sessions: Map<string, Buffer>;
};

/** Takes uploads as the distribution spec says, but for the trouble. Of a cut request it keeps the first 1000 bytes. */
const startUploads = async (trouble: Trouble = () => undefined): Promise<Uploads> => {
  const kept = new Map<string, Buffer>();
  const sessions = new Map<string, Buffer>();
  let count = 0;
  const server = await startHostileServer(
    (request, response) => {
      const url = new URL(request.url, 'http://x');
      const id = url.pathname.split('/').at(-1) ?? '';
      const session = sessions.get(id);
      const digest = url.searchParams.get('digest');
      if (request.method === 'HEAD') {
        const blob = kept.get(id);
        response.writeHead(blob ? 200 : 404, blob && { 'content-length': blob.byteLength }).end();
      } else if (request.method === 'POST') {
        const name = `s${++count}`;
        sessions.set(name, Buffer.alloc(0));
        response.writeHead(202, { location: `./${name}?_state=a%2Bb` }).end();
      } else if (!session) {
        response.writeHead(404).end('{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}');
      } else if (request.method === 'GET') {
        response
          .writeHead(204, {
            range: `0-${Math.max(0, session.byteLength - 1)}`,
            location: `${url.pathname}?_state=status`,
          })
          .end();
      } else {
        const whole = Buffer.concat([session, request.body]);
        sessions.set(id, whole);
        if (request.method === 'PATCH') {
          response
            .writeHead(202, {
              range: `0-${whole.byteLength - 1}`,
              location: `${url.pathname}?_state=${whole.byteLength}`,
            })
            .end();
        } else if (digest === digestOf(whole)) {
          kept.set(digest, whole);
          response.writeHead(201).end();
        } else response.writeHead(400).end('{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}');
      }
    },
    (request, nth) => {
      const what = trouble(request, nth);
      if (what !== 'cut') return what;
      const id = new URL(request.url ?? '', 'http://x').pathname.split('/').at(-1) ?? '';
      request.once('data', (chunk: Buffer) => {
        const session = sessions.get(id);
        if (session) sessions.set(id, Buffer.concat([session, chunk.subarray(0, 1000)]));
        request.socket.destroy();
      });
      if (request.headers['content-length'] === '0' || request.method === 'GET') request.socket.destroy();
      return 'handled';
    },
  );
  return Object.assign(server, { kept, sessions });
};

const methodsOf = (server: HostileServer): readonly string[] => server.seen.map(({ method }) => method);

describe('a small blob', () => {
  it('is sent in one PUT to the location of the registry, with its query unchanged', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    const repository = client.repository('a');
    expect(await repository.pushBlob(blobOf(SMALL), opening(SMALL))).toBe('uploaded');
    expect(await repository.pushBlob(blobOf(SMALL), opening(SMALL))).toBe('there');
    expect(methodsOf(server)).toEqual(['HEAD', 'POST', 'PUT', 'HEAD']);
    const put = server.seen[2];
    expect(put?.url).toBe(
      `/v2/factory/a/blobs/uploads/s1?_state=a%2Bb&digest=${encodeURIComponent(digestOf(SMALL))}`,
    );
    expect(put?.headers['content-length']).toBe(String(SMALL.byteLength));
  });

  it('is sent when it is empty', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    const nothing = Buffer.alloc(0);
    expect(await client.repository('a').pushBlob(blobOf(nothing), opening(nothing))).toBe('uploaded');
  });

  it('is sent again in the same upload when the connection breaks', async () => {
    await using server = await startUploads((request, nth) =>
      request.method === 'PUT' && nth === 3 ? 'cut' : undefined,
    );
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL))).toBe('uploaded');
    expect(server.kept.get(digestOf(SMALL))?.equals(SMALL)).toBe(true);
  });

  it('is sent when HEAD fails with 500: the storage may have lost it', async () => {
    await using server = await startHostileServer((request, response) => {
      if (request.method === 'HEAD') response.writeHead(500);
      else if (request.method === 'POST') response.writeHead(202, { location: '/upload' });
      else response.writeHead(201);
      response.end();
    });
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL))).toBe('uploaded');
    expect(methodsOf(server)).toEqual(['HEAD', 'POST', 'PUT']);
  });
});

describe('a blob that another repository may have', () => {
  /** What HEAD and a POST that mounts are answered with. */
  const start = (head: number, mount: number) =>
    startHostileServer(({ method, url }, response) => {
      const isMount = method === 'POST' && url.includes('mount=');
      const status = { HEAD: head, POST: isMount ? mount : 202 }[method] ?? 201;
      response.writeHead(status, { location: '/upload' }).end();
    });
  const push = (client: Impatient, bytes: Buffer) =>
    client.repository('prod/line').pushBlob(blobOf(bytes), opening(bytes), { mountFrom: 'qa/line' });

  it('is mounted from there with one POST', async () => {
    await using server = await start(404, 201);
    await using client = impatientClient(server.host);
    for (const bytes of [SMALL, BIG]) expect(await push(client, bytes)).toBe('mounted');
    expect(methodsOf(server)).toEqual(['POST', 'POST']);
    expect(server.seen[0]?.url).toBe(
      `/v2/factory/prod/line/blobs/uploads/?mount=${encodeURIComponent(digestOf(SMALL))}&from=factory%2Fqa%2Fline`,
    );
  });

  it('but that was not mounted is looked up, and sent in the upload that the mount began', async () => {
    await using server = await start(404, 202);
    await using client = impatientClient(server.host);
    expect(await push(client, SMALL)).toBe('uploaded');
    expect(methodsOf(server)).toEqual(['POST', 'HEAD', 'PUT']);
  });

  it('but that was not mounted is not sent when it exists', async () => {
    await using server = await start(200, 202);
    await using client = impatientClient(server.host);
    expect(await push(client, SMALL)).toBe('there');
    expect(methodsOf(server)).toEqual(['POST', 'HEAD']);
  });

  it('but whose mount is refused (400, 403, 405) is sent in an upload without mount', async () => {
    for (const status of [400, 403, 405]) {
      await using server = await start(404, status);
      await using client = impatientClient(server.host);
      expect(await push(client, SMALL)).toBe('uploaded');
      expect(methodsOf(server)).toEqual(['POST', 'POST', 'HEAD', 'PUT']);
    }
  });

  it('is looked up first at a registry that has not mounted a blob before', async () => {
    await using server = await start(404, 202);
    await using client = impatientClient(server.host);
    await push(client, SMALL);
    const other = Buffer.from('other');
    expect(await push(client, other)).toBe('uploaded');
    expect(methodsOf(server).slice(3)).toEqual(['HEAD', 'POST', 'PUT']);
    expect(server.seen[4]?.url).toContain(`mount=${encodeURIComponent(digestOf(other))}`);
    await using knows = await start(200, 202);
    await using asked = impatientClient(knows.host);
    for (const bytes of [SMALL, other]) expect(await push(asked, bytes)).toBe('there');
    expect(methodsOf(knows)).toEqual(['POST', 'HEAD', 'HEAD']);
  });
});

describe('a fast connection', () => {
  const HUGE = randomBytes(40 << 20);
  const MOST = 24 << 20;
  /** A clock by which each request takes 0.1 s. */
  const fast = () => {
    let now = 0;
    return { clock: () => (now += 100) };
  };
  const chunksOf = (server: HostileServer): readonly number[] =>
    server.seen
      .filter(({ method }) => method === 'PATCH')
      .map(({ headers }) => Number(headers['content-length']));

  it('gets larger chunks after the first measurement', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host, fast());
    expect(await client.repository('a').pushBlob(blobOf(HUGE), opening(HUGE))).toBe('uploaded');
    expect(chunksOf(server)).toEqual([16 << 20, MOST]);
    expect(await client.repository('b').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(methodsOf(server).slice(-3)).toEqual(['HEAD', 'POST', 'PUT']);
  });

  it('gets a smaller chunk after a break', async () => {
    await using server = await startUploads((request, nth) =>
      request.method === 'PATCH' && nth === 4 ? 'cut' : undefined,
    );
    await using client = impatientClient(server.host, fast());
    expect(await client.repository('a').pushBlob(blobOf(HUGE), opening(HUGE))).toBe('uploaded');
    expect(chunksOf(server)).toEqual([16 << 20, MOST, 16 << 20, (8 << 20) - 1000]);
    expect(server.kept.get(digestOf(HUGE))?.equals(HUGE)).toBe(true);
  });

  /** As a proxy that takes only so much. */
  const tooMuch =
    (most: number): Trouble =>
    (request) => {
      if (Number(request.headers['content-length'] ?? 0) <= most) return undefined;
      request.resume().on('end', () => {
        request.socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
      });
      return 'handled';
    };

  it('a slow connection gets smaller chunks, and the upload continues', async () => {
    await using server = await startUploads(tooMuch(20 << 20));
    await using client = impatientClient(server.host, fast());
    expect(await client.repository('a').pushBlob(blobOf(HUGE), opening(HUGE))).toBe('uploaded');
    expect(chunksOf(server)).toEqual([16 << 20, MOST, 16 << 20, 8 << 20]);
    expect(server.kept.get(digestOf(HUGE))?.equals(HUGE)).toBe(true);
    expect(client.delays).toEqual([500]);
  });

  it('to a proxy with a limit below the smallest chunk fails with a hint about that limit', async () => {
    await using server = await startUploads(tooMuch(1 << 20));
    await using client = impatientClient(server.host, fast());
    expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(HUGE), opening(HUGE)))).toMatchObject({
      code: 'REGISTRY_REFUSED',
      message: expect.stringContaining('answered 413'),
      hint: expect.stringContaining('limits how much may be sent at once'),
    });
    expect(client.delays).toEqual([]);
  });
});

describe.concurrent('a large blob', () => {
  it('is sent in chunks to the location of each response', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(methodsOf(server)).toEqual(['HEAD', 'POST', 'PATCH', 'PATCH', 'PUT']);
    expect(server.seen.slice(2).map(({ headers }) => headers['content-range'])).toEqual([
      `0-${(16 << 20) - 1}`,
      `${16 << 20}-${BIG.byteLength - 1}`,
      undefined,
    ]);
    expect(server.seen[3]?.url).toContain(`_state=${16 << 20}`);
    expect(server.kept.get(digestOf(BIG))?.equals(BIG)).toBe(true);
  });

  it("is sent in chunks of at least the registry's OCI-Chunk-Min-Length", async () => {
    await using server = await startHostileServer((request, response) => {
      const status = { HEAD: 404, POST: 202, PUT: 201 }[request.method] ?? 400;
      response.writeHead(status, { location: '/upload', 'oci-chunk-min-length': String(32 << 20) }).end();
    });
    await using client = impatientClient(server.host);
    await client.repository('a').pushBlob(blobOf(BIG), opening(BIG));
    expect(methodsOf(server)).toEqual(['HEAD', 'POST', 'PUT']);
  });

  it('an interrupted upload asks the registry for its offset and resumes there', async () => {
    await using server = await startUploads((request, nth) =>
      request.method === 'PATCH' && (nth === 4 || nth === 7) ? 'cut' : undefined,
    );
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(server.kept.get(digestOf(BIG))?.equals(BIG)).toBe(true);
    const ranges = server.seen
      .filter(({ method }) => method === 'PATCH')
      .map(({ headers }) => headers['content-range']?.split('-')[0]);
    expect(ranges).toEqual(['0', String(16 << 20), String((16 << 20) + 1000), String((16 << 20) + 2000)]);
    expect(methodsOf(server).filter((method) => method === 'POST')).toHaveLength(1);
  });

  it('whose upload session is lost is sent from the start', async () => {
    const memory: { sessions?: Map<string, Buffer> } = {};
    await using server = await startUploads((request, nth) => {
      if (request.method === 'PATCH' && nth === 4) memory.sessions?.clear();
      return undefined;
    });
    memory.sessions = server.sessions;
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(server.kept.get(digestOf(BIG))?.equals(BIG)).toBe(true);
    expect(methodsOf(server).filter((method) => method === 'POST')).toHaveLength(2);
  });

  it('that the registry stored although its response was lost is not sent again', async () => {
    await using server = await startUploads();
    const { kept } = server;
    await using front = await startHostileServer(
      (request, response) => {
        const isThere = request.method === 'HEAD' && kept.size > 0;
        response
          .writeHead({ HEAD: isThere ? 200 : 404, POST: 202 }[request.method] ?? 500, { location: '/u' })
          .end();
      },
      (request) => {
        if (request.method !== 'PUT') return undefined;
        kept.set(digestOf(SMALL), SMALL);
        request.socket.destroy();
        return 'handled';
      },
    );
    await using client = impatientClient(front.host);
    expect(await client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL))).toBe('uploaded');
    expect(methodsOf(front)).toEqual(['HEAD', 'POST', 'PUT', 'HEAD']);
  });

  /** What goes wrong after the second chunk was cut; `nth` counts requests, 7 is the first after the registry reported its offset. */
  type Wrong = (session: Session, nth: number, request: IncomingMessage) => 'cut' | 'handled' | undefined;
  type Session = { readonly bytes: () => Buffer; readonly set: (bytes: Buffer) => void };
  const startInterrupted = async (wrong: Wrong): Promise<Uploads> => {
    const memory: { sessions?: Map<string, Buffer> } = {};
    const server = await startUploads((request, nth) => {
      if (request.method === 'PATCH' && nth === 4) return 'cut';
      const id = new URL(request.url ?? '', 'http://x').pathname.split('/').at(-1) ?? '';
      const bytes = (): Buffer => memory.sessions?.get(id) ?? Buffer.alloc(0);
      return wrong({ bytes, set: (to) => void memory.sessions?.set(id, to) }, nth, request);
    });
    memory.sessions = server.sessions;
    return server;
  };
  const answering = (status: number, request: IncomingMessage): 'handled' => {
    request.resume().on('end', () => {
      request.socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    });
    return 'handled';
  };
  const uploads = (server: HostileServer): number =>
    methodsOf(server).filter((method) => method === 'POST').length;

  it.each<[string, Wrong]>([
    [
      'has the late end of the cut request after the bytes that follow it',
      ({ bytes, set }, nth) => void (nth === 7 && set(Buffer.concat([bytes(), SMALL]))),
    ],
    [
      'is found damaged when it is closed',
      ({ bytes, set }, nth) => void (nth === 7 && set(Buffer.alloc(bytes().byteLength))),
    ],
    [
      'is at an offset from which it cannot go on',
      (_session, nth, request) =>
        request.method === 'PATCH' && nth > 6 && nth < 12 ? answering(416, request) : undefined,
    ],
    [
      'cannot be asked for: the registry fails each time',
      (_session, _nth, request) => (request.method === 'GET' ? answering(500, request) : undefined),
    ],
  ])('whose upload %s is sent from the start', async (_what, wrong) => {
    await using server = await startInterrupted(wrong);
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(server.kept.get(digestOf(BIG))?.equals(BIG)).toBe(true);
    expect(uploads(server)).toBe(2);
  });

  it("resumes from the server's offset when it has moved on after the status request", async () => {
    await using server = await startInterrupted(({ bytes, set }, nth, request) => {
      if (nth !== 7) return undefined;
      set(BIG.subarray(0, bytes().byteLength + 5000));
      return answering(416, request);
    });
    await using client = impatientClient(server.host);
    expect(await client.repository('a').pushBlob(blobOf(BIG), opening(BIG))).toBe('uploaded');
    expect(uploads(server)).toBe(1);
  });

  it('an upload that is damaged after each interruption fails with an error about that', async () => {
    const cut = new Set<string>();
    await using server = await startUploads((request) => {
      const id = new URL(request.url ?? '', 'http://x').pathname.split('/').at(-1) ?? '';
      if (Number(request.headers['content-length'] ?? 0) > 0 && !cut.has(id)) {
        cut.add(id);
        return 'cut';
      }
      if (request.method === 'PUT') server.sessions.set(id, SMALL);
      return undefined;
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(BIG), opening(BIG)))).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: expect.stringMatching(
        /answered 400 \(DIGEST_INVALID: no\) to PUT, each time after an interruption$/,
      ),
    });
    expect(uploads(server)).toBe(6);
  });

  it('whose final PUT times out is not sent again when the registry finishes later', async () => {
    let heads = 0;
    await using front = await startHostileServer(
      (request, response) => {
        if (request.method === 'HEAD') heads += 1;
        const status = { HEAD: heads > 2 ? 200 : 404, POST: 202, GET: 404 }[request.method] ?? 500;
        response.writeHead(status, { location: '/u' }).end();
      },
      (request) => {
        if (request.method !== 'PUT') return undefined;
        request.socket.destroy();
        return 'handled';
      },
    );
    await using client = impatientClient(front.host);
    expect(await client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL))).toBe('uploaded');
    expect(methodsOf(front)).toEqual(['HEAD', 'POST', 'PUT', 'HEAD', 'GET', 'HEAD']);
  });

  it('without progress fails after five tries: REGISTRY_UNREACHABLE', async () => {
    await using server = await startUploads((request) => {
      if (request.method !== 'PATCH') return undefined;
      request.socket.destroy();
      return 'handled';
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(BIG), opening(BIG)))).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: `sending ${digestOf(BIG).slice(0, 19)} to ${server.host}/factory/a: ${server.host} cut the connection`,
    });
    expect(methodsOf(server).filter((method) => method === 'PATCH')).toHaveLength(5);
  });

  it("stops at once when the sender's signal aborts", async () => {
    await using server = await startUploads((request) =>
      request.method === 'PATCH' ? 'handled' : undefined,
    );
    await using client = impatientClient(server.host, { patience: { headers: 60_000 } });
    const stop = new AbortController();
    const sending = thrownBy(() =>
      client.repository('a').pushBlob(blobOf(BIG), opening(BIG), { signal: stop.signal }),
    );
    while (!methodsOf(server).includes('PATCH')) await new Promise((next) => setTimeout(next, 5));
    stop.abort();
    expect(await sending).toMatchObject({ name: 'AbortError' });
    expect(client.delays).toEqual([]);
  });
});

describe('the content of an upload', () => {
  it('that ends too early fails with SIZE_MISMATCH', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    for (const bytes of [SMALL, BIG]) {
      const short = opening(bytes.subarray(0, bytes.byteLength - 1));
      expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(bytes), short))).toMatchObject({
        code: 'SIZE_MISMATCH',
      });
    }
    expect(client.delays).toEqual([]);
  });

  it('with another digest fails with DIGEST_MISMATCH when the registry refuses it', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    const other = opening(Buffer.alloc(SMALL.byteLength));
    expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(SMALL), other))).toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(methodsOf(server)).toEqual(['HEAD', 'POST', 'PUT']);
  });

  it('that cannot be read fails with the error of its source', async () => {
    await using server = await startUploads();
    await using client = impatientClient(server.host);
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield SMALL.subarray(0, 1000);
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    }
    expect(
      await thrownBy(() => client.repository('a').pushBlob(blobOf(SMALL), async () => failing())),
    ).toMatchObject({ code: 'IO' });
    const gone = async (): Promise<AsyncIterable<Uint8Array>> => {
      throw new FleetError('MISSING_BLOB', 'it is not there');
    };
    expect(await thrownBy(() => client.repository('a').pushBlob(blobOf(SMALL), gone))).toMatchObject({
      code: 'MISSING_BLOB',
    });
    expect(client.delays).toEqual([]);
  });
});

describe('an upload that the registry sends elsewhere', () => {
  it("is sent there without the registry's credentials", async () => {
    await using storage = await startHostileServer((_request, response) => {
      response.writeHead(201).end();
    });
    await using server = await startHostileServer((request, response) => {
      response.writeHead(request.method === 'HEAD' ? 404 : 202, { location: `${storage.url}/put` }).end();
    });
    await using client = impatientClient(server.host);
    await client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL));
    expect(storage.seen[0]?.headers.authorization).toBeUndefined();
    expect(storage.seen[0]?.body.equals(SMALL)).toBe(true);
  });

  it.each(['http://storage.example/put', 'file:///tmp/x', undefined])(
    'to %s is refused',
    async (location) => {
      await using server = await startHostileServer((request, response) => {
        response
          .writeHead(request.method === 'HEAD' ? 404 : 202, location === undefined ? {} : { location })
          .end();
      });
      await using client = impatientClient(server.host);
      expect(
        await thrownBy(() => client.repository('a').pushBlob(blobOf(SMALL), opening(SMALL))),
      ).toMatchObject({ code: 'REGISTRY_REFUSED' });
      expect(server.seen).toHaveLength(2);
    },
  );
});
