import { createHmac } from 'node:crypto';
import { formatTime } from '#bundles/time';
import type { Store } from '../store/open-store.ts';
import type { Checks } from './oidc-provider.ts';
import { hashSecret, isSecret, createSecret } from './session.ts';

/** How long a person may take at the provider. */
export const SIGN_IN_MS = 10 * 60_000;

/** A sign-in that began: the secret is in a cookie of this browser, and state, nonce and PKCE verifier follow from it. */
export type StartedSignIn = { readonly secret: string; readonly checks: Checks };

const checksOf = (secret: string): Checks => {
  const derive = (what: string): string => createHmac('sha256', secret).update(what).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('pkce') };
};

/** @param target the view that the person wanted */
export const startSignIn = async (store: Store, target: string, now: Date): Promise<StartedSignIn> => {
  const secret = createSecret();
  await store.transact(async (tx) => {
    await tx.deleteFrom('sign_in').where('ends_at', '<=', formatTime(now)).execute();
    await tx
      .insertInto('sign_in')
      .values({
        hash: hashSecret(secret),
        target,
        ends_at: formatTime(new Date(now.getTime() + SIGN_IN_MS)),
      })
      .execute();
  });
  return { secret, checks: checksOf(secret) };
};

/**
 * Consumes a sign-in: it can be completed once, regardless of the result. @returns undefined if it was not started here, has
 * ended or is too old
 */
export const endSignIn = (
  store: Store,
  secret: string | undefined,
  now: Date,
): Promise<{ readonly checks: Checks; readonly target: string } | undefined> =>
  store.transact(async (tx) => {
    if (secret === undefined || !isSecret(secret)) return undefined;
    const hash = hashSecret(secret);
    const row = await tx.selectFrom('sign_in').selectAll().where('hash', '=', hash).executeTakeFirst();
    if (!row) return undefined;
    await tx.deleteFrom('sign_in').where('hash', '=', hash).execute();
    return row.ends_at <= formatTime(now) ? undefined : { checks: checksOf(secret), target: row.target };
  });

/** Only a view of the page: another address would send the person to another site (open redirect). */
export const targetOf = (text: string | undefined): string =>
  text !== undefined && text.length <= MAX_TARGET && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)
    ? text
    : '/';

const MAX_TARGET = 2000;
