import { defined } from '../../../defined.ts';
import { FleetError } from '../../../errors.ts';
import { parseStrictJson } from '../../../json/strict-json.ts';
import type { Credentials } from './docker-config.ts';

/** The token server a registry names. */
export type Realm = { readonly url: URL; readonly service: string | undefined };

export type TokenRequest = {
  readonly realm: Realm;
  readonly scopes: readonly string[];
  readonly credentials: Credentials | undefined;
};

export const MAX_TOKEN_BYTES = 1 << 20;
/** Default of Docker's token specification for an answer without expires_in, and its minimum. */
const DEFAULT_SECONDS = 60;
const CLIENT = 'fleet-ferry';

/** Parameters that the client decides, not the address that a registry names. */
const CLIENT_PARAMETERS = [
  'account',
  'client_id',
  'grant_type',
  'offline_token',
  'refresh_token',
  'scope',
  'service',
];

/** The request for a token: an OAuth2 refresh with an identity token, else a GET, with basic credentials if there are some. */
export const tokenRequestOf = ({
  realm,
  scopes,
  credentials,
}: TokenRequest): {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
} => {
  const url = new URL(realm.url);
  for (const name of CLIENT_PARAMETERS) url.searchParams.delete(name);
  if (credentials?.kind === 'identity') {
    const form = new URLSearchParams(
      defined({
        grant_type: 'refresh_token',
        client_id: CLIENT,
        scope: scopes.join(' '),
        refresh_token: credentials.token,
        service: realm.service,
      }),
    );
    return {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(form.toString()),
    };
  }
  if (realm.service !== undefined) url.searchParams.set('service', realm.service);
  for (const scope of scopes) url.searchParams.append('scope', scope);
  if (credentials?.kind !== 'basic') return { method: 'GET', url, headers: {} };
  url.searchParams.set('account', credentials.username);
  return { method: 'GET', url, headers: { authorization: basicOf(credentials) } };
};

/** The Authorization header for a name and password (RFC 7617). */
export const basicOf = (credentials: { readonly username: string; readonly password: string }): string =>
  `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;

/** @throws FleetError REGISTRY_REFUSED */
export const parseTokenAnswer = (
  bytes: Uint8Array,
  host: string,
): { readonly token: string; readonly seconds: number } => {
  let answer: unknown;
  try {
    answer = parseStrictJson(bytes, { maxBytes: MAX_TOKEN_BYTES });
  } catch {
    answer = undefined;
  }
  const { token, access_token: access, expires_in: seconds } = (answer ?? {}) as Record<string, unknown>;
  const text = token || access;
  // Only characters that a header may contain: others could inject further headers.
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    throw new FleetError('REGISTRY_REFUSED', `the token server ${host} did not answer with a token`, {
      hint: 'Check the token server that the registry names',
    });
  }
  const isTime = typeof seconds === 'number' && Number.isFinite(seconds);
  return { token: text, seconds: isTime ? Math.max(DEFAULT_SECONDS, seconds) : DEFAULT_SECONDS };
};
