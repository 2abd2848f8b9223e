import * as client from 'openid-client';
import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';
import { FleetError } from '#bundles/errors';
import type { SignInFault } from './sign-in-faults.ts';

/** An OIDC provider that people sign in at. */
export type OidcProvider = {
  /** https, or http at loopback. */
  readonly issuer: string;
  readonly clientId: string;
  /** undefined: a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  /** Claim that names a person in roles and statements. */
  readonly personClaim: string;
  readonly groupsClaim: string;
  /** PEM certificates that the provider is trusted by, beside the system's. */
  readonly ca: readonly string[] | undefined;
  readonly timeoutMs: number;
};

/** How far the clocks of hub and provider may be apart. */
const TOLERANCE_S = 60;

export type Checks = { readonly state: string; readonly nonce: string; readonly verifier: string };

export type SignedIn = {
  readonly issuer: string;
  readonly subject: string;
  readonly person: string;
  readonly groups: readonly string[];
};

/** A sign-in that did not end well. `fault` is for the person, the message for the log. */
export type SignInError = FleetError & { readonly fault: SignInFault };

const signInError = (fault: SignInFault, message: string, cause?: unknown): SignInError =>
  Object.assign(
    new FleetError(fault === 'unreachable' ? 'PROVIDER_UNREACHABLE' : 'SIGN_IN_REFUSED', message, { cause }),
    { fault },
  );

export const isSignInError = (error: unknown): error is SignInError =>
  error instanceof FleetError && 'fault' in error;

/**
 * Where a browser is sent to sign in (authorization code with PKCE, state and nonce).
 * @throws SignInError PROVIDER_UNREACHABLE, SIGN_IN_REFUSED
 */
export const authorizationUrl = (
  provider: OidcProvider,
  { state, nonce, verifier }: Checks,
  { redirectUri, now }: { readonly redirectUri: string; readonly now: Date },
): Promise<URL> =>
  asSignIn(async () => {
    const configuration = await discover(provider, now);
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: provider.scope,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
  });

/**
 * The person behind the answer of a provider: exchanges the code, and verifies state, issuer, audience, times, nonce and the signature
 * of the ID token. The provider is asked anew each time, so keys that it changed are known.
 * @param url the whole address that the provider sent the browser to
 * @throws SignInError PROVIDER_UNREACHABLE, SIGN_IN_REFUSED
 */
export const signedIn = (
  provider: OidcProvider,
  url: URL,
  { state, nonce, verifier }: Checks,
  now: Date,
): Promise<SignedIn> =>
  asSignIn(async () => {
    const configuration = await discover(provider, now);
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw signInError('refused', 'the provider sent no ID token');
    const more =
      configuration.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return readPerson(provider, claims.sub, { ...claims, ...more });
  });

/**
 * Tries a provider without a person: reads its metadata, and has a code refused that it never gave, which shows whether it knows the client
 * and its secret (RFC 6749 section 5.2).
 * @throws SignInError PROVIDER_UNREACHABLE, SIGN_IN_REFUSED
 */
export const examineProvider = (provider: OidcProvider, redirectUri: string, now: Date): Promise<void> =>
  asSignIn(async () => {
    const configuration = await discover(provider, now);
    try {
      const code = 'a-code-that-was-never-given';
      const verifier = client.randomPKCECodeVerifier();
      const asked = { code, redirect_uri: redirectUri, code_verifier: verifier };
      await client.genericGrantRequest(configuration, 'authorization_code', asked);
    } catch (error) {
      // Some providers call a code that they never gave an invalid request.
      const refusals = ['invalid_grant', 'invalid_request'];
      if (error instanceof client.ResponseBodyError && refusals.includes(error.error)) return;
      const { error: said, code } = error as { readonly error?: unknown; readonly code?: unknown };
      const isUnknown = said === 'invalid_client' || said === 'unauthorized_client';
      // RFC 6749 section 5.2: a client that authenticated by a header is refused with WWW-Authenticate.
      if (!isUnknown && code !== 'OAUTH_WWW_AUTHENTICATE_CHALLENGE') throw error;
      const message = `the provider does not know the client ${provider.clientId}, or its secret is another one`;
      throw signInError('refused', message, error);
    }
  });

const readPerson = (
  { issuer, personClaim, groupsClaim }: OidcProvider,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
): SignedIn => {
  const person = claims[personClaim];
  if (typeof person !== 'string' || person === '' || person.length > MAX_PERSON)
    throw signInError('no-person', `the provider sent no usable claim ${personClaim} for ${subject}`);
  // A user who may choose an address at the provider could choose the address of an admin.
  if (personClaim === 'email' && claims['email_verified'] !== true)
    throw signInError('no-person', `the provider has not verified the address of ${subject}`);
  const groups = claims[groupsClaim];
  return {
    issuer,
    subject,
    person,
    groups: Array.isArray(groups) ? groups.filter((one): one is string => typeof one === 'string') : [],
  };
};

const MAX_PERSON = 150;

const discover = async (provider: OidcProvider, now: Date): Promise<client.Configuration> => {
  const { issuer, clientId, clientSecret, timeoutMs } = provider;
  const server = new URL(issuer);
  const dispatcher = new Agent({ connect: provider.ca ? { ca: [...provider.ca] } : {} });
  const metadata = {
    // The hub's own clock counts, which --now may have set.
    [client.clockSkew]: Math.round((now.getTime() - Date.now()) / 1000),
    [client.clockTolerance]: TOLERANCE_S,
  };
  const auth = clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret);
  return client.discovery(server, clientId, metadata, auth, {
    timeout: timeoutMs / 1000,
    [client.customFetch]: fetchBy(dispatcher),
    execute: [
      client.enableNonRepudiationChecks,
      ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  });
};

/** One connection a request: sign-ins are rare. */
const fetchBy =
  (dispatcher: Dispatcher): client.CustomFetch =>
  async (url, options) => {
    const answer: unknown = await undiciFetch(url, { ...(options as object), dispatcher });
    return answer as Response;
  };

const UNREACHABLE: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** Translates an error of openid-client into one of the sentences for people. */
const asSignIn = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (isSignInError(error)) throw error;
    const { code = '' } = error as { readonly code?: string };
    const said = messageOf(error);
    if (error instanceof client.AuthorizationResponseError)
      throw signInError('denied', `the provider answered ${error.error}`, error);
    if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
      throw signInError('clock', `the times in the ID token do not fit the clock of the hub: ${said}`, error);
    if (error instanceof client.ResponseBodyError)
      throw error.status >= 500
        ? signInError('unreachable', `the provider answered ${error.status}`, error)
        : signInError('refused', `the provider refused the code: ${error.error}`, error);
    if (UNREACHABLE.has(code) || (error instanceof TypeError && code === ''))
      throw signInError('unreachable', `the provider does not answer: ${said}`, error);
    throw signInError('refused', `the answer of the provider is not valid: ${said}`, error);
  }
};

/** The message of an error with the message of its cause, which has the reason. */
const messageOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${messageOf(cause)}` : message;
};
