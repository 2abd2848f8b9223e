import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type FleetError, formatError } from '#bundles/errors';
import { createAuthorizer } from '#bundles/transport/registry/http/authorize';
import {
  type HostileServer,
  impatientClient,
  inChunks,
  readAll,
  type Seen,
  startHostileServer,
  thrownBy,
} from '../hostile-server.ts';

const BASIC = `Basic ${Buffer.from('robot:open sesame').toString('base64')}`;
const TAGS = '{"tags":["a"]}';

let folder: string;
let authFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'authorize-'));
  authFile = join(folder, 'auth.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const logIn = (host: string, entry: Record<string, string> = { auth: BASIC.slice('Basic '.length) }): void =>
  writeFileSync(authFile, JSON.stringify({ auths: { [host]: entry } }));

/** Nobody's registry and token server at once: 401 with a challenge, until the right token comes. */
const startTokenServer = (
  options: {
    token?: (request: Seen, nth: number) => string;
    realm?: (url: string) => string;
    seconds?: number;
  } = {},
): Promise<HostileServer> => {
  const issued = new Set<string>();
  return startHostileServer((request, response, nth) => {
    const url = `http://${request.headers.host}`;
    if (request.url.startsWith('/token')) {
      const token = options.token?.(request, nth) ?? `token-${nth}`;
      issued.add(token);
      response.end(JSON.stringify({ token, expires_in: options.seconds ?? 300 }));
      return;
    }
    const authorized = issued.has(request.headers.authorization?.replace('Bearer ', '') ?? '');
    const realm = options.realm?.(url) ?? `${url}/token`;
    response.writeHead(authorized ? 200 : 401, {
      'www-authenticate': `Bearer realm="${realm}",service="registry",scope="repository:factory/a:pull"`,
    });
    response.end(
      authorized ? TAGS : '{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}',
    );
  });
};

/** Asks for a token of the token server at the same address. */
const askForToken = (request: Seen, response: ServerResponse): void => {
  const challenge = `Bearer realm="http://${request.headers.host}/token"`;
  response.writeHead(401, { 'www-authenticate': challenge }).end();
};

const pathsOf = (server: HostileServer): readonly string[] =>
  server.seen.map(({ url }) => new URL(url, server.url).pathname);

describe('a registry with a token server', () => {
  it('sends the first request without a token, and later requests with one for the scope', async () => {
    await using server = await startTokenServer();
    await using client = impatientClient(server.host);
    const repository = client.repository('a');
    expect(await repository.tags()).toEqual(['a']);
    expect(await repository.tags()).toEqual(['a']);
    expect(pathsOf(server)).toEqual([
      '/v2/factory/a/tags/list',
      '/token',
      '/v2/factory/a/tags/list',
      '/v2/factory/a/tags/list',
    ]);
    expect(server.seen[1]?.url).toBe('/token?service=registry&scope=repository%3Afactory%2Fa%3Apull');
    expect(server.seen[1]?.headers.authorization).toBeUndefined();
  });

  it('issues one token for concurrent requests of the same scope', async () => {
    await using server = await startTokenServer();
    await using client = impatientClient(server.host);
    await Promise.all(Array.from({ length: 8 }, () => client.repository('a').tags()));
    expect(pathsOf(server).filter((path) => path === '/token')).toHaveLength(1);
  });

  it('receives name and password at its token server only', async () => {
    await using server = await startTokenServer();
    logIn(server.host);
    await using client = impatientClient(server.host, { authFile });
    await client.repository('a').tags();
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      BASIC,
      'Bearer token-2',
    ]);
    expect(server.seen[1]?.url).toContain('account=robot');
  });

  it('receives an identity token at its token server by POST', async () => {
    await using server = await startTokenServer();
    logIn(server.host, { identitytoken: 'refresh-me' });
    await using client = impatientClient(server.host, { authFile });
    await client.repository('a').tags();
    const post = server.seen[1];
    expect(post?.method).toBe('POST');
    expect(Object.fromEntries(new URLSearchParams(post?.body.toString()))).toEqual({
      grant_type: 'refresh_token',
      client_id: 'fleet-ferry',
      scope: 'repository:factory/a:pull',
      refresh_token: 'refresh-me',
      service: 'registry',
    });
  });

  it('issues a new token when the old one is no longer valid', async () => {
    let valid = 'token-1';
    await using server = await startHostileServer((request, response) => {
      if (request.url.startsWith('/token')) response.end(JSON.stringify({ access_token: valid }));
      else if (request.headers.authorization === `Bearer ${valid}`) response.end(TAGS);
      else askForToken(request, response);
    });
    await using client = impatientClient(server.host);
    await client.repository('a').tags();
    valid = 'token-2';
    expect(await client.repository('a').tags()).toEqual(['a']);
    expect(pathsOf(server).filter((path) => path === '/token')).toHaveLength(2);
  });

  it('that refuses its own fresh token is REGISTRY_DENIED after three requests', async () => {
    await using server = await startHostileServer((request, response) => {
      if (request.url.startsWith('/token')) response.end(JSON.stringify({ token: 'fresh' }));
      else askForToken(request, response);
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_DENIED' });
    expect(server.seen).toHaveLength(3);
  });

  it('whose token server answers 401 is REGISTRY_DENIED; a 503 is retried', async () => {
    await using server = await startHostileServer((request, response, nth) => {
      if (request.url.startsWith('/token')) response.writeHead(nth < 4 ? 503 : 401).end();
      else askForToken(request, response);
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({
      code: 'REGISTRY_DENIED',
      message: `getting a token for ${server.host}: ${server.host} answered 401 to GET`,
    });
    expect(client.delays).toEqual([500, 1000]);
  });

  it.each(['"a\\r\\nx-evil: 1"', '""', '{"a":1}', 'null'])(
    'whose token is %s is refused, because it would break the request header',
    async (token) => {
      await using server = await startHostileServer((request, response) => {
        if (request.url.startsWith('/token')) response.end(`{"token":${token}}`);
        else askForToken(request, response);
      });
      await using client = impatientClient(server.host);
      expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_REFUSED' });
    },
  );

  it.each(['http://tokens.example/token', 'file:///etc/passwd', 'nowhere', ''])(
    'that names %s as its token server gets no credentials',
    async (realm) => {
      await using server = await startTokenServer({ realm: () => realm });
      logIn(server.host);
      await using client = impatientClient(server.host, { authFile });
      expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_DENIED' });
      expect(server.seen).toHaveLength(1);
    },
  );

  describe('a registry whose token server is on another host', () => {
    const atLocalhost = (server: HostileServer): string => `localhost:${server.host.split(':')[1]}`;

    it('H18: gets none of its credentials sent there -> REGISTRY_DENIED', async () => {
      await using thief = await startTokenServer();
      await using server = await startTokenServer({ realm: () => `http://${atLocalhost(thief)}/token` });
      for (const entry of [undefined, { identitytoken: 'refresh-me' }]) {
        logIn(server.host, entry);
        await using client = impatientClient(server.host, { authFile });
        const error = (await thrownBy(() => client.repository('a').tags())) as FleetError;
        expect(error).toMatchObject({ code: 'REGISTRY_DENIED' });
        expect(error.hint).toContain(`add an entry for it to the auth file`);
        // Nor later, by the token that many wait for.
        expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({
          code: 'REGISTRY_DENIED',
        });
      }
      expect(thief.seen).toEqual([]);
    });

    it('has the credentials of the auth file for that host sent there, not its own', async () => {
      const issued = new Set<string>();
      await using tokens = await startHostileServer((_, response, nth) => {
        issued.add(`Bearer token-${nth}`);
        response.end(JSON.stringify({ token: `token-${nth}` }));
      });
      await using server = await startHostileServer((request, response) => {
        const isKnown = issued.has(request.headers.authorization ?? '');
        const challenge = `Bearer realm="http://${atLocalhost(tokens)}/token"`;
        response.writeHead(isKnown ? 200 : 401, { 'www-authenticate': challenge }).end(isKnown ? TAGS : '');
      });
      const other = { auth: Buffer.from('robot:of the tokens').toString('base64') };
      writeFileSync(
        authFile,
        JSON.stringify({ auths: { [server.host]: { auth: BASIC.slice(6) }, [atLocalhost(tokens)]: other } }),
      );
      await using client = impatientClient(server.host, { authFile });
      expect(await client.repository('a').tags()).toEqual(['a']);
      expect(tokens.seen.map(({ headers }) => headers.authorization)).toEqual([`Basic ${other.auth}`]);
    });

    it('sends no credentials when none are configured', async () => {
      await using tokens = await startHostileServer((_, response) => {
        response.end(JSON.stringify({ token: 'open' }));
      });
      await using server = await startHostileServer((request, response) => {
        const isKnown = request.headers.authorization === 'Bearer open';
        const challenge = `Bearer realm="http://${atLocalhost(tokens)}/token"`;
        response.writeHead(isKnown ? 200 : 401, { 'www-authenticate': challenge }).end(isKnown ? TAGS : '');
      });
      writeFileSync(authFile, '{}');
      await using client = impatientClient(server.host, { authFile });
      expect(await client.repository('a').tags()).toEqual(['a']);
    });
  });

  it('H18: gets a token for the scope of the request, for any scope in the challenge and its address', async () => {
    await using server = await startHostileServer((request, response) => {
      if (request.url.startsWith('/token')) response.end(JSON.stringify({ token: 'fresh' }));
      else if (request.headers.authorization) response.end(TAGS);
      else
        response
          .writeHead(401, {
            'www-authenticate': `Bearer realm="http://${request.headers.host}/token?scope=repository:b:*&account=root&x=1",scope="repository:b:pull,push registry:catalog:*"`,
          })
          .end();
    });
    logIn(server.host);
    await using client = impatientClient(server.host, { authFile });
    await client.repository('a').tags();
    const asked = new URL(server.seen[1]?.url ?? '', server.url);
    expect(asked.searchParams.getAll('scope')).toEqual(['repository:factory/a:pull']);
    expect(asked.searchParams.getAll('account')).toEqual(['robot']);
    expect(asked.searchParams.get('x')).toBe('1');
  });

  it('a cancelled caller does not cancel the token request of other callers', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await startHostileServer(async (request, response) => {
      if (request.url.startsWith('/token')) {
        await promise;
        response.end(JSON.stringify({ token: 'late' }));
      } else if (request.headers.authorization) response.end(TAGS);
      else askForToken(request, response);
    });
    await using client = impatientClient(server.host, { patience: { headers: 30_000 } });
    const stop = new AbortController();
    const first = thrownBy(() => client.repository('a').tags(stop.signal));
    const second = client.repository('a').tags();
    while (!pathsOf(server).includes('/token')) await new Promise((next) => setTimeout(next, 5));
    stop.abort();
    expect(await first).toMatchObject({ name: 'AbortError' });
    resolve();
    expect(await second).toEqual(['a']);
  });
});

describe('a registry with Basic authentication', () => {
  const wantsBasic = (): Promise<HostileServer> =>
    startHostileServer((request, response) => {
      const isKnown = request.headers.authorization === BASIC;
      response.writeHead(isKnown ? 200 : 401, { 'www-authenticate': 'Basic realm="r"' });
      response.end(isKnown ? TAGS : '{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}');
    });

  it('gets credentials after its first 401, and with every later request', async () => {
    await using server = await wantsBasic();
    logIn(server.host);
    await using client = impatientClient(server.host, { authFile });
    await client.repository('a').tags();
    await client.repository('a').tags();
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, BASIC, BASIC]);
  });

  it('is REGISTRY_DENIED without credentials, and with wrong ones, which are sent once', async () => {
    await using server = await wantsBasic();
    writeFileSync(authFile, '{}');
    await using client = impatientClient(server.host, { authFile });
    const error = await thrownBy(() => client.repository('a').tags());
    expect(error).toMatchObject({ code: 'REGISTRY_DENIED' });
    expect((error as FleetError).hint).toContain('Log in');
    logIn(server.host, { username: 'robot', password: 'wrong' });
    await using wrong = impatientClient(server.host, { authFile });
    expect(await thrownBy(() => wrong.repository('a').tags())).toMatchObject({ code: 'REGISTRY_DENIED' });
    expect(server.seen.map(({ headers }) => headers.authorization !== undefined)).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('accepts a login that was made while the daemon runs', async () => {
    await using server = await wantsBasic();
    logIn(server.host, { username: 'robot', password: 'old' });
    await using client = impatientClient(server.host, { authFile });
    expect(await thrownBy(() => client.repository('a').tags())).toMatchObject({ code: 'REGISTRY_DENIED' });
    logIn(server.host);
    expect(await client.repository('a').tags()).toEqual(['a']);
  });

  it('that repeats the password in its response does not get it into our message', async () => {
    await using server = await startHostileServer((request, response) => {
      const { authorization = '' } = request.headers;
      const message = `you sent ${authorization}, that is ${Buffer.from(authorization.slice(6), 'base64').toString()}`;
      response.writeHead(authorization ? 403 : 401, { 'www-authenticate': 'Basic realm="r"' });
      response.end(JSON.stringify({ errors: [{ code: 'DENIED', message }] }));
    });
    logIn(server.host);
    await using client = impatientClient(server.host, { authFile });
    const error = (await thrownBy(() => client.repository('a').tags())) as FleetError;
    expect(error.message).toContain('DENIED: you sent Basic ***, that is robot:***');
    expect(formatError(error)).not.toMatch(/sesame|b3BlbiBzZXNhbWU/);
  });
});

describe('a redirect', () => {
  const BLOB = Buffer.from('content');

  it('H18: to another host is followed without the credentials for the first, also when it leads back', async () => {
    let home = '';
    await using storage = await startHostileServer((request, response) => {
      if (request.url === '/signed?key=1') response.writeHead(307, { location: `${home}/direct` }).end();
      else response.writeHead(404).end();
    });
    await using server = await startHostileServer((request, response) => {
      if (request.url === '/direct') response.end(BLOB);
      else if (request.headers.authorization === BASIC)
        response.writeHead(307, { location: `${storage.url}/signed?key=1` }).end();
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end();
    });
    home = server.url;
    logIn(server.host);
    await using client = impatientClient(server.host, { authFile });
    const content = await readAll(await client.repository('a').blobs.open(digestOf(BLOB)));
    expect(content.toString()).toBe('content');
    expect(storage.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, BASIC, undefined]);
  });

  it.each([
    ['a password', () => 'Basic realm="r"'],
    ['a token of its own token server', (host: string) => `Bearer realm="http://${host}/token"`],
  ])(
    'H18: to a host that wants credentials of its own, %s, is refused rather than given ours',
    async (_what, challenge) => {
      await using thief = await startHostileServer((request, response) => {
        if (request.url.startsWith('/token')) response.end('{"token":"stolen"}');
        else response.writeHead(401, { 'www-authenticate': challenge(thief.host) }).end();
      });
      await using server = await startHostileServer((_request, response) => {
        response.writeHead(307, { location: `${thief.url}/x` }).end();
      });
      logIn(server.host);
      await using client = impatientClient(server.host, { authFile });
      expect(await thrownBy(() => client.repository('a').blobs.open(digestOf(BLOB)))).toMatchObject({
        code: 'REGISTRY_DENIED',
        hint: `${server.host} redirects to ${thief.host}, which gets no credentials of ${server.host}: name ${thief.host} as the registry`,
      });
      expect(thief.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    },
  );

  it.each(['http://storage.example/x', 'ftp://storage.example/x', 'http://', 'file:///etc/passwd'])(
    'H18: to %s is not followed',
    async (location) => {
      await using server = await startHostileServer((_request, response) => {
        response.writeHead(302, { location }).end();
      });
      await using client = impatientClient(server.host);
      expect(await thrownBy(() => client.repository('a').blobs.open(digestOf(BLOB)))).toMatchObject({
        code: 'REGISTRY_REFUSED',
      });
    },
  );

  it('that never ends is given up after six requests', async () => {
    await using server = await startHostileServer((request, response) => {
      response.writeHead(307, { location: `${request.url}x` }).end();
    });
    await using client = impatientClient(server.host);
    expect(await thrownBy(() => client.repository('a').blobs.open(digestOf(BLOB)))).toMatchObject({
      code: 'REGISTRY_REFUSED',
    });
    expect(server.seen).toHaveLength(6);
  });

  it('of an upload is not followed: REGISTRY_REFUSED', async () => {
    await using server = await startHostileServer((request, response) => {
      response.writeHead(request.method === 'HEAD' ? 404 : 307, { location: '/elsewhere' }).end();
    });
    await using client = impatientClient(server.host);
    const blob = { digest: digestOf(BLOB), size: BLOB.byteLength };
    expect(
      await thrownBy(() => client.repository('a').pushBlob(blob, async () => inChunks(BLOB))),
    ).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect(server.seen).toHaveLength(2);
  });
});

describe('the token cache', () => {
  it('of a daemon with thousands of tokens redacts the password and the newest token, and has dropped the first', async () => {
    let count = 0;
    const authorizer = createAuthorizer({
      find: async () => ({ kind: 'basic', username: 'robot', password: 'open sesame' }),
      mayAsk: () => true,
      isOwn: () => true,
      findAt: async () => undefined,
      request: async () => ({ token: `token-${++count}-`, seconds: 60 }),
    });
    for (let at = 1; at <= 1500; at++) {
      const scope = { repository: 'a', scopes: [`repository:a:${at}`] };
      await authorizer.learn('Bearer realm="https://tokens.example/"', scope, undefined);
      expect(await authorizer.header(scope)).toBe(`Bearer token-${at}-`);
    }
    expect(authorizer.hide('open sesame token-1500- token-1-')).toBe('*** *** token-1-');
    // Forgotten, so got anew; a newer one is still there.
    expect(await authorizer.header({ repository: 'a', scopes: ['repository:a:1'] })).toBe(
      'Bearer token-1501-',
    );
    expect(await authorizer.header({ repository: 'a', scopes: ['repository:a:1400'] })).toBe(
      'Bearer token-1400-',
    );
  });
});
