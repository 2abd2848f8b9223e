import { createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../fleets/certificates.ts';

export type TokenServer = AsyncDisposable & {
  readonly realm: string;
  readonly service: string;
  readonly issuer: string;
  /** The scopes it was asked for, and by whom. */
  readonly asked: readonly { readonly user: string; readonly scopes: readonly string[] }[];
};

const [SERVICE, ISSUER] = ['test registry', 'test issuer'];

/**
 * A token server as docker's specification has it ("Token Authentication Implementation"): everybody may pull, `user`
 * with `password` may do what is asked, others get nothing. Tokens are good for `seconds`, and said to be for an hour.
 */
export const startTokenServer = async (
  signer: Certificate,
  { user, password, seconds }: { readonly user: string; readonly password: string; readonly seconds: number },
): Promise<TokenServer> => {
  const key = createPrivateKey(await readFile(signer.key));
  const chain = [new X509Certificate(await readFile(signer.certificate)).raw.toString('base64')];
  const asked: { user: string; scopes: readonly string[] }[] = [];
  const right = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

  const issue = (who: string, scopes: readonly string[]): string => {
    const now = Math.floor(Date.now() / 1000);
    const access = scopes.map((scope) => {
      const [type, name, actions = ''] = scope.split(':');
      return { type, name, actions: actions.split(',').filter((action) => who !== '' || action === 'pull') };
    });
    const claims = { iss: ISSUER, aud: SERVICE, sub: who, jti: randomUUID(), access };
    const times = { iat: now, nbf: now - 10, exp: now + seconds };
    const parts = [
      { alg: 'ES256', typ: 'JWT', x5c: chain },
      { ...claims, ...times },
    ];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };

  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    const { authorization } = request.headers;
    if (authorization !== undefined && authorization !== right) {
      response.writeHead(401).end('{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}');
      return;
    }
    const who = authorization === undefined ? '' : user;
    const scopes = searchParams.getAll('scope').flatMap((scope) => scope.split(' '));
    asked.push({ user: who, scopes });
    response.end(JSON.stringify({ token: issue(who, scopes), expires_in: 3600 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    realm: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    service: SERVICE,
    issuer: ISSUER,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
