import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { SECRETS_SUBJECT, type SealedSet } from '#bundles/trust/secrets/secret-set';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { SiteAgent, SitePredicate, SiteValues } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import { addDays, formatTime, type Timestamp } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { parseSiteValues } from '#bundles/formats/statements/site-values';

/** Readers accept at most 400 days; a year leaves a margin for inaccurate clocks. */
const SITE_STATEMENT_DAYS = 365;

export type SiteContent = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly SiteAgent[];
  readonly values: SiteValues;
  readonly sealed: readonly SealedSet[];
  /** For a signer process (showDecision). */
  readonly evidence?: readonly Uint8Array[];
};

export type SignedSite = {
  readonly statement: Buffer;
  readonly values: Buffer;
  /** Digest of the statement's payload. */
  readonly payload: Digest;
  readonly issuedAt: Timestamp;
  readonly expires: Timestamp;
};

/**
 * Signs a site statement: the agents of the site, the channel each follows, the site's values and its sealed secrets
 * (docs/bundle-format.md sections 7 and 16). The result is verified as agents do, so that a statement they would reject is never
 * published.
 * @throws FleetError TOO_LARGE if the site has more agents than a statement holds; UNKNOWN_KEY if the root does not accept the
 *   key; SCHEMA; NOT_NEWER, SIGNER_UNREACHABLE from a remote signer
 */
export const signSite = async (
  { site, version, agents, values, sealed, evidence }: SiteContent,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<SignedSite> => {
  const bytes = canonicalBytes(values, 'doubles');
  parseSiteValues(bytes, site);
  const predicate: SitePredicate = {
    audience: { fleet: root.fleet, site },
    version,
    agents,
    issuedAt: formatTime(now),
    expires: formatTime(addDays(now, SITE_STATEMENT_DAYS)),
    critical: [],
  };
  const payload = statementPayload(
    [
      { name: 'site-values', digest: digestOf(bytes) },
      ...sealed.map(({ name, digest }) => ({ name: SECRETS_SUBJECT + name, digest })),
    ],
    'site',
    predicate,
  );
  const statement = await signPayload(payload, key, evidence);
  const what = `the new statement of site ${site}`;
  const verified = verifyStatement([statement], root.roles.release, PREDICATES.site, what);
  return {
    statement,
    values: bytes,
    payload: verified.digest,
    issuedAt: predicate.issuedAt,
    expires: predicate.expires,
  };
};
