import { FleetError } from '../../../errors.ts';
import { parseChallenges } from './challenge.ts';
import type { Credentials } from './docker-config.ts';
import { basicOf, type Realm, type TokenRequest } from './token-request.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Scope of a request in the syntax of the token server: 'repository:factory/fleet:pull'. */
export type TokenScope = { readonly repository: string; readonly scopes: readonly string[] };

/** The authorization state of one registry. */
export type Authorizer = {
  /** The Authorization header, or undefined while the registry has not asked for one. */
  readonly header: (scope: TokenScope, signal?: AbortSignal) => Promise<string | undefined>;
  /** Reads the challenge of a 401. @returns true if another attempt may succeed */
  readonly learn: (challenge: string, scope: TokenScope, used: string | undefined) => Promise<boolean>;
  /** Removes all sent secrets from a text. */
  readonly hide: (text: string) => string;
};

export type AuthorizerOptions = {
  readonly find: (repository: string) => Promise<Credentials | undefined>;
  /** Whether a token server may be asked at all: with TLS, or at a host that needs none. */
  readonly mayAsk: (realm: URL) => boolean;
  /** Whether a token server is the registry's own, which gets the registry's credentials. */
  readonly isOwn: (realm: URL) => boolean;
  /** Credentials that the auth file has for the token server itself. */
  readonly findAt: (realm: URL, repository: string) => Promise<Credentials | undefined>;
  readonly request: (request: TokenRequest) => Promise<{ readonly token: string; readonly seconds: number }>;
};

/** A token is renewed this long before it expires, for requests under way. */
const SLACK_SECONDS = 10;

const MAX_REMEMBERED = 1000;

type Scheme = { readonly kind: 'none' | 'basic' } | { readonly kind: 'bearer'; readonly realm: Realm };
type Token = { readonly header: Promise<string>; readonly current?: string; readonly until: number };

/** OCI distribution spec 1.1 leaves authorization to the registries; all of them do as docker's token spec says, or basic. */
export const createAuthorizer = ({ find, mayAsk, isOwn, findAt, request }: AuthorizerOptions): Authorizer => {
  let scheme: Scheme = { kind: 'none' };
  const credentials = new Map<string, Promise<Credentials | undefined>>();
  const tokens = new Map<string, Token>();
  /** A separate list, so that many tokens do not displace a password. */
  const passwords = new Set<string>();
  const issued = new Set<string>();

  const credentialsFor = ({ repository }: TokenScope): Promise<Credentials | undefined> => {
    const known = credentials.get(repository);
    if (known) return known;
    const found = find(repository).then((it) => {
      for (const secret of it ? secretsOf(it) : []) passwords.add(secret);
      return it;
    });
    credentials.set(repository, found);
    found.catch(() => credentials.delete(repository));
    return found;
  };

  /** Upper bound on remembered tokens: a daemon gets one every few minutes, a publisher one for each repository. */
  const forgetOldest = (): void => {
    for (const memory of [passwords, issued, tokens, credentials])
      for (const oldest of memory.keys()) {
        if (memory.size <= MAX_REMEMBERED) break;
        memory.delete(oldest);
      }
  };

  /** Credentials go to the host that they are for: a registry could name any other host as its token server. */
  const credentialsAt = async (
    realm: Realm,
    { repository }: TokenScope,
    own: Credentials | undefined,
  ): Promise<Credentials | undefined> => {
    if (isOwn(realm.url)) return own;
    const found = await findAt(realm.url, repository);
    if (own && !found) throw foreignRealm(realm.url);
    for (const secret of found ? secretsOf(found) : []) passwords.add(secret);
    return found;
  };

  const keyOf = ({ repository, scopes }: TokenScope): string => `${repository} ${scopes.join(' ')}`;

  const getToken = async (
    scope: TokenScope,
    key: string,
    realm: Realm,
    own: Credentials | undefined,
  ): Promise<string> => {
    try {
      const answer = await request({ realm, scopes: scope.scopes, credentials: own });
      issued.add(answer.token);
      forgetOldest();
      const current = `Bearer ${answer.token}`;
      const until = performance.now() + Math.max(1, answer.seconds - SLACK_SECONDS) * 1000;
      tokens.set(key, { header: Promise.resolve(current), current, until });
      return current;
    } catch (error) {
      tokens.delete(key);
      throw error;
    }
  };

  const tokenFor = async (scope: TokenScope, realm: Realm): Promise<string> => {
    const own = await credentialsFor(scope);
    if (own?.kind === 'bearer') return `Bearer ${own.token}`;
    const key = keyOf(scope);
    const known = tokens.get(key);
    // Monotonic time, because the wall clock of a site may jump by years.
    if (known && known.until > performance.now()) return known.header;
    // Concurrent requests for the same token wait for this one.
    const header = credentialsAt(realm, scope, own).then((at) => getToken(scope, key, realm, at));
    header.catch(() => tokens.delete(key));
    const token: Token = { header, until: Number.POSITIVE_INFINITY };
    tokens.set(key, token);
    return token.header;
  };

  const currentHeader = async (scope: TokenScope): Promise<string | undefined> => {
    switch (scheme.kind) {
      case 'none':
        return undefined;
      case 'basic':
        return basicHeader(await credentialsFor(scope));
      case 'bearer':
        return tokenFor(scope, scheme.realm);
    }
  };
  // Not aborted by one caller, because other callers wait for the same files, helpers and tokens.
  const header: Authorizer['header'] = (scope, signal) => unlessAborted(currentHeader(scope), signal);

  /** Lifetime of credentials from files and helpers, because a person may log in while the daemon runs. */
  const forget = (scope: TokenScope, used: string): void => {
    credentials.delete(scope.repository);
    const key = keyOf(scope);
    if (tokens.get(key)?.current === used) tokens.delete(key);
  };

  const learn: Authorizer['learn'] = async (text, scope, used) => {
    const challenges = parseChallenges(text);
    const bearer = challenges.find(
      (challenge) => challenge.scheme === 'bearer' && challenge.parameters.has('realm'),
    );
    if (used !== undefined) forget(scope, used);
    if (bearer) {
      // The scope of the challenge is not read: what the request needs is asked for, and nothing more.
      scheme = { kind: 'bearer', realm: realmOf(bearer.parameters, mayAsk) };
      return true;
    }
    if (!challenges.some((challenge) => challenge.scheme === 'basic')) return false;
    const next = basicHeader(await credentialsFor(scope));
    if (next === undefined || next === used) return false;
    scheme = { kind: 'basic' };
    return true;
  };

  const hide = (text: string): string => {
    let hidden = text;
    for (const secret of [...passwords, ...issued])
      if (secret.length >= 4) hidden = hidden.replaceAll(secret, '***');
    return hidden;
  };

  return { header, learn, hide };
};

const foreignRealm = (realm: URL): FleetError =>
  new FleetError(
    'REGISTRY_DENIED',
    `the registry names the token server ${realm.host}, which is another host than its own`,
    {
      hint: `The credentials were not sent there. If ${realm.host} is right, add an entry for it to the auth file`,
    },
  );

const realmOf = (parameters: ReadonlyMap<string, string>, mayAsk: (realm: URL) => boolean): Realm => {
  const text = parameters.get('realm') ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !mayAsk(url)) {
    throw new FleetError(
      'REGISTRY_DENIED',
      url
        ? `the registry names the token server ${url.protocol}//${url.host}, which is without TLS`
        : 'the registry names a token server without a valid address',
      { hint: 'Nothing was sent there; configure a token server with TLS in the registry' },
    );
  }
  return { url, service: parameters.get('service') };
};

const basicHeader = (credentials: Credentials | undefined): string | undefined =>
  credentials?.kind === 'basic' ? basicOf(credentials) : undefined;

const secretsOf = (credentials: Credentials): readonly string[] =>
  credentials.kind === 'basic'
    ? [credentials.password, basicOf(credentials).slice('Basic '.length)]
    : [credentials.token];
