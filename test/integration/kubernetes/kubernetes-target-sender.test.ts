import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { createSender } from '../../../agent/apply/kubernetes/api/send.ts';
import { makeAuthority, makeCertificate } from '../../harness/fleets/certificates.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const signal = new AbortController().signal;
const GET = { method: 'GET', path: '/x', verb: 'get', what: 'it', secret: false } as const;

/** A server of one's own on the loopback, and how often it was asked. */
const serve = async (answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) => {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response, asked.length);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
};

const senderFor = (
  server: string,
  patienceMs: number,
  credentials = async () => ({ tls: {}, headers: {} }),
) => createSender({ server, credentials }, { patienceMs, requestMs: 5000 });

const apiOf = (server: string) =>
  openKubernetesApi(
    { server, credentials: async () => ({ tls: {}, headers: {} }) },
    { patienceMs: 5000, requestMs: 5000 },
  );

it('a sender keeps its connections when it deletes objects one after the other', async () => {
  const ports = new Set<number | undefined>();
  await using server = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    request.resume().on('end', () => response.end('{}'));
  });
  const sender = senderFor(server.origin, 1000);
  for (let count = 0; count < 20; count++)
    await sender.send({ ...GET, method: 'DELETE', body: '{"kind":"DeleteOptions"}' }, signal);
  await sender.close();
  expect(server.asked).toHaveLength(20);
  // A second one may open before the first is seen to be free.
  expect(ports.size).toBeLessThan(10);
});

describe('a kind that the discovery of an API server lacks', () => {
  const LATE = { apiVersion: 'late.example/v1', kind: 'Late' };
  const group = {
    metadata: { name: 'late.example' },
    versions: [
      {
        version: 'v1',
        resources: [
          { resource: 'lates', responseKind: { kind: 'Late' }, scope: 'Namespaced', verbs: ['get'] },
        ],
      },
    ],
  };

  it('is missing only if the server is ready, because it has no custom kinds while it starts', async () => {
    let starting = 2;
    await using server = await serve(({ url }, response) => {
      if (url === '/readyz') response.writeHead(starting-- > 0 ? 500 : 200).end('{}');
      else
        response.end(JSON.stringify({ kind: 'APIGroupDiscoveryList', items: starting > 0 ? [] : [group] }));
    });
    const api = apiOf(server.origin);
    expect(await api.typeOf(LATE, signal)).toMatchObject({ plural: 'lates' });
    expect(await api.typeOf({ ...LATE, kind: 'Never' }, signal)).toBeUndefined();
    await api.close();
  });

  it('is not missing when another program answers', async () => {
    await using server = await serve((_request, response) => response.end('{"items":[]}'));
    const api = apiOf(server.origin);
    await expect(api.typeOf(LATE, signal)).rejects.toMatchObject({ code: 'API_FAILED' });
    await api.close();
  });
});

describe('a request to an API server', () => {
  it('is delayed as long as the server asks, and sent again', async () => {
    await using server = await serve((_request, response, count) => {
      if (count === 1) response.writeHead(429, { 'retry-after': '1' }).end('{}');
      else response.end('{"a":1}');
    });
    const sender = senderFor(server.origin, 5000);
    const begun = performance.now();
    expect(await sender.send(GET, signal)).toMatchObject({ code: 200, body: '{"a":1}' });
    expect(performance.now() - begun).toBeGreaterThan(950);
    expect(server.asked).toHaveLength(2);
    await sender.close();
  });

  it('is not sent again without a pause when the server asks for none', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(429, { 'retry-after': '0' }).end('{}'),
    );
    const sender = senderFor(server.origin, 1000);
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    expect(server.asked.length).toBeLessThan(20);
    await sender.close();
  });

  it('that applies is sent again when the server could not count its object for a quota, and not after a conflict of fields', async () => {
    const resource = { resource: 'maps', responseKind: { kind: 'Map' }, scope: 'Namespaced', verbs: [] };
    const group = { metadata: { name: 'x.example' }, versions: [{ version: 'v1', resources: [resource] }] };
    const conflict = (more: object): string =>
      JSON.stringify({ kind: 'Status', code: 409, reason: 'Conflict', ...more });
    const quota = conflict({
      message:
        'Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'q', kind: 'resourcequotas' },
    });
    const fields = conflict({
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "x"', field: '.data' }] },
    });
    let applies = 0;
    await using server = await serve(({ url = '', method }, response) => {
      if (method === 'GET') {
        response.end(
          JSON.stringify({ kind: 'APIGroupDiscoveryList', items: url === '/apis' ? [group] : [] }),
        );
        return;
      }
      applies += 1;
      const isFree = url.includes('/counted?') && applies > 2;
      response.writeHead(isFree ? 200 : 409).end(url.includes('/counted?') ? quota : fields);
    });
    const api = apiOf(server.origin);
    const apply = (name: string) =>
      api.apply(
        { apiVersion: 'x.example/v1', kind: 'Map', metadata: { name, namespace: 'default' } },
        { force: false },
        signal,
      );
    await apply('counted');
    expect(applies).toBe(3);
    await expect(apply('fields')).rejects.toMatchObject({ code: 'FIELD_CONFLICT' });
    expect(applies).toBe(4);
    await api.close();
  });

  it('that lists asks for all pages at once after the place of the next page has expired', async () => {
    const resource = { resource: 'maps', responseKind: { kind: 'Map' }, scope: 'Namespaced', verbs: [] };
    const group = { metadata: { name: 'x.example' }, versions: [{ version: 'v1', resources: [resource] }] };
    const map = (name: string): object => ({ metadata: { name, namespace: 'default' } });
    await using server = await serve(({ url = '' }, response) => {
      if (!url.startsWith('/apis/x.example')) {
        response.end(
          JSON.stringify({ kind: 'APIGroupDiscoveryList', items: url === '/apis' ? [group] : [] }),
        );
        return;
      }
      const query = new URLSearchParams(url.split('?')[1]);
      if (query.has('continue')) {
        response.writeHead(410).end('{"kind":"Status","code":410,"reason":"Expired"}');
        return;
      }
      const isPaged = query.has('limit');
      const items = isPaged ? [map('a')] : [map('a'), map('b')];
      const metadata = { resourceVersion: '7', ...(isPaged && { continue: 'next' }) };
      response.end(JSON.stringify({ items, metadata }));
    });
    const api = apiOf(server.origin);
    const { items } = await api.list(
      { apiVersion: 'x.example/v1', kind: 'Map' },
      {},
      AbortSignal.timeout(5000),
    );
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    await api.close();
  });

  it('is sent again after a broken connection until its time is over; later ones are sent once', async () => {
    await using server = await serve((request) => request.socket.destroy());
    const sender = senderFor(server.origin, 1000);
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    const tries = server.asked.length;
    expect(tries).toBeGreaterThan(2);
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    expect(server.asked.length - tries).toBe(1);
    await sender.close();
  });

  it('is sent again once with new credentials when the old ones are refused', async () => {
    await using server = await serve((request, response) => {
      const known = request.headers.authorization === 'Bearer 2';
      response.writeHead(known ? 200 : 401).end('{}');
    });
    let token = 0;
    const credentials = async () => ({ tls: {}, headers: { Authorization: `Bearer ${++token}` } });
    const sender = senderFor(server.origin, 1000, credentials);
    expect(await sender.send(GET, signal)).toMatchObject({ code: 200 });
    expect(server.asked).toHaveLength(2);
    token = 100;
    const denied = senderFor(server.origin, 1000, credentials);
    await expect(denied.send(GET, signal)).rejects.toMatchObject({ code: 'API_DENIED' });
    expect(server.asked).toHaveLength(4);
    await sender.close();
    await denied.close();
  });

  it('fails with API_FAILED after a server error if the server reports that it is ready', async () => {
    let ready = 200;
    await using server = await serve((request, response) => {
      const other = request.url === '/x' ? 500 : 200;
      const code = request.url === '/readyz' ? ready : other;
      response.writeHead(code).end('{"message":"jsonpatch failed"}');
    });
    const sender = senderFor(server.origin, 300);
    await expect(sender.send(GET, signal)).rejects.toMatchObject({
      code: 'API_FAILED',
      message: 'it was not read: the API server answers 500: jsonpatch failed',
    });
    const begun = server.asked.length;
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_FAILED' });
    expect(server.asked.length - begun).toBeGreaterThan(2);
    ready = 500;
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    await sender.close();
  });

  it('fails with API_FAILED when the server cannot fill its cache of the kind, and with API_UNREACHABLE when it is busy', async () => {
    let message = 'storage is (re)initializing';
    await using server = await serve((request, response) => {
      const code = request.url === '/readyz' ? 200 : 429;
      response.writeHead(code).end(JSON.stringify({ message, reason: 'TooManyRequests' }));
    });
    const sender = senderFor(server.origin, 300);
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_FAILED' });
    message = 'too many requests, please try again later';
    await expect(sender.send(GET, signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    await sender.close();
  });

  it('is sent again after a denial until the server is ready, because it denies everything before', async () => {
    const answers = [403, 500, 200];
    const denied = '{"message":"x is forbidden: User \\"robot\\" cannot get resource"}';
    await using server = await serve(({ url }, response) => {
      const isReady = answers.length === 1;
      if (url === '/readyz') response.writeHead((isReady ? answers[0] : answers.shift()) ?? 200).end('{}');
      else if (url === '/x' && isReady) response.end('{}');
      else response.writeHead(403).end(denied);
    });
    const sender = senderFor(server.origin, 5000);
    expect(await sender.send(GET, signal)).toMatchObject({ code: 200 });
    const begun = server.asked.length;
    await expect(sender.send({ ...GET, path: '/y' }, signal)).rejects.toMatchObject({ code: 'API_DENIED' });
    expect(server.asked.slice(begun).map(({ url }) => url)).toEqual(['/y', '/readyz', '/y']);
    await sender.close();
  });

  it('ends with its signal, also while it waits to be sent again', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(503).end('{}');
    });
    const sender = senderFor(server.origin, 60_000);
    await expect(sender.send(GET, AbortSignal.timeout(300))).rejects.toMatchObject({ code: 'ABORTED' });
    await sender.close();
  });

  it('offers no HTTP/2, because the errors of such a connection cannot be caught', async () => {
    await using folder = await temporaryDirectory('sender');
    const authority = await makeAuthority(folder.path);
    const own = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
    const [key, cert, ca] = await Promise.all(
      [own.key, own.certificate, authority.certificate].map((file) => readFile(file)),
    );
    const offered: string[] = [];
    const ALPNCallback = ({ protocols }: { readonly protocols: readonly string[] }): string => {
      offered.push(...protocols);
      return 'http/1.1';
    };
    const server = createSecureServer({ key, cert, ALPNCallback }, (_request, response) =>
      response.end('{}'),
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const { port } = server.address() as AddressInfo;
    const sender = senderFor(`https://127.0.0.1:${port}`, 1000, async () => ({ tls: { ca }, headers: {} }));
    expect(await sender.send(GET, signal)).toMatchObject({ code: 200 });
    expect(offered).toEqual(['http/1.1']);
    await sender.close();
    await new Promise((done) => server.close(done));
  });
});
