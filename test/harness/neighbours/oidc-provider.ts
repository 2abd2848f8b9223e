import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type Configuration, type KoaContextWithOIDC, Provider } from 'oidc-provider';

type Claims = Readonly<Record<string, unknown>>;

/** People who can sign in with any password, by login: their groups, and whether their address is verified. */
type Account = { groups: readonly string[]; verified?: boolean };

/** A certified OIDC provider (npm oidc-provider) at loopback, and what a test can do to it. */
export type TestProvider = AsyncDisposable & {
  readonly issuer: string;
  readonly accounts: Map<string, Account>;
  /** Keys that it signs with are other ones from now on. */
  readonly rotateKeys: () => void;
  /** Changes the claims of ID tokens, which it signs as always. */
  tamper: ((claims: Claims) => Claims) | undefined;
  /** It answers only after this time. */
  delayMs: number;
  /** It closes every connection without an answer. */
  isDown: boolean;
};

export const CLIENT = { id: 'fleet-ferry', secret: 'a secret of the hub and its provider' };
/** Another application at the same provider. */
export const OTHER_CLIENT = { id: 'wiki', redirectUri: 'http://127.0.0.1:9/callback' };

const SCOPE = 'openid email groups';

export const startOidcProvider = async (redirectUris: readonly string[]): Promise<TestProvider> => {
  let handle = (_: unknown, response: { readonly destroy: () => void }): void => response.destroy();
  const server = createServer((request, response) => {
    if (made.isDown) request.socket.destroy();
    else handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts = new Map<string, Account>();
  const start = (): void => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = randomBytes(6).toString('hex');
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' };
    const provider = new Provider(issuer, configuration(accounts, redirectUris, jwk));
    provider.use(async (context, next) => {
      if (made.delayMs > 0) await setTimeout(made.delayMs);
      await next();
      const body = context.body as { readonly id_token?: string } | undefined;
      if (made.tamper && context.path === '/token' && body?.id_token !== undefined)
        context.body = { ...body, id_token: resign(body.id_token, made.tamper, { privateKey, kid }) };
    });
    handle = provider.callback() as unknown as typeof handle;
  };
  const made: TestProvider = {
    issuer,
    accounts,
    rotateKeys: start,
    tamper: undefined,
    delayMs: 0,
    isDown: false,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  start();
  return made;
};

const configuration = (
  accounts: ReadonlyMap<string, Account>,
  redirectUris: readonly string[],
  jwk: object,
): Configuration => ({
  jwks: { keys: [jwk] },
  clients: [
    {
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      redirect_uris: [...redirectUris],
      id_token_signed_response_alg: 'ES256',
    },
    {
      client_id: OTHER_CLIENT.id,
      token_endpoint_auth_method: 'none',
      redirect_uris: [OTHER_CLIENT.redirectUri],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: ['openid', 'email', 'groups'],
  // Claims of scopes are in the ID token, too, as most providers have them.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true } },
  cookies: { keys: ['a key of the test'] },
  findAccount: (_: unknown, id: string) => {
    const account = accounts.get(id);
    if (!account) return undefined;
    const { groups, verified = true } = account;
    const claims = { sub: id, email: `${id}@example.com`, email_verified: verified, groups: [...groups] };
    return { accountId: id, claims: () => claims };
  },
  // Everybody has consented.
  loadExistingGrant: async ({ oidc }: KoaContextWithOIDC) => {
    const { client, session, provider } = oidc;
    const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
    grant.addOIDCScope(SCOPE);
    await grant.save();
    return grant;
  },
});

const resign = (
  token: string,
  tamper: (claims: Claims) => Claims,
  { privateKey, kid }: { readonly privateKey: KeyObject; readonly kid: string },
): string => {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'ES256', kid })}.${part(tamper(claims))}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
};

/**
 * What a browser does at the provider: follows it from the address that the hub sent it to, signs in, and stops at the address that
 * leads back.
 * @returns the whole address of the callback
 */
export const signInAt = async (start: string, login: string, redirectUri: string): Promise<URL> => {
  const cookies = new Map<string, string>();
  const step = async (url: string, form?: URLSearchParams): Promise<Response> => {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [name = '', ...value] = (cookie.split(';')[0] ?? '').split('=');
      cookies.set(name, value.join('='));
    }
    return answer;
  };
  let url = start;
  let form: URLSearchParams | undefined;
  for (let steps = 0; steps < 12; steps += 1) {
    const answer = await step(url, form);
    form = undefined;
    const location = answer.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      if (url.startsWith(redirectUri)) return new URL(url);
      continue;
    }
    const page = await answer.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
    if (action === undefined)
      throw new Error(`the provider answered ${answer.status}: ${page.slice(0, 400)}`);
    url = new URL(action, url).href;
    form = new URLSearchParams({ prompt: 'login', login, password: 'any' });
  }
  throw new Error('the provider leads nowhere');
};
