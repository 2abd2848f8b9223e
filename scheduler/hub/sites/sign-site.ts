import { canonicalBytes, type Json } from '#bundles/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { SECRETS_SUBJECT, type SealedSet } from '#bundles/secrets/secret-set';
import { signPayload } from '#bundles/statements/envelope';
import type { SiteAgent, SitePredicate, SiteValues } from '#bundles/statements/predicates';
import { encodeStatement, verifyStatement } from '#bundles/statements/verify-statement';
import { addDays, formatTime, type Timestamp } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';

/** Readers take 400 days at most; a year leaves room for a clock that is off. */
const SITE_STATEMENT_DAYS = 365;

export type SiteOrder = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly SiteAgent[];
  readonly values: SiteValues;
  readonly sealed: readonly SealedSet[];
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
 * The order for one site: who its agents are, what each follows, the values only this site has and
 * its sealed secrets (docs/bundle-format.md sections 7 and 16). What no agent would take is not handed out: it is verified like theirs.
 * @throws FleetError those of verifyStatement; TOO_LARGE for a site with more agents than a statement holds
 */
export const signSite = async (
  { site, version, agents, values, sealed }: SiteOrder,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<SignedSite> => {
  const bytes = canonicalBytes(values as unknown as Json);
  const predicate: SitePredicate = {
    audience: { fleet: root.fleet, site },
    version,
    agents,
    issuedAt: formatTime(now),
    expires: formatTime(addDays(now, SITE_STATEMENT_DAYS)),
    critical: [],
  };
  const payload = encodeStatement(
    [
      { name: 'site-values', digest: digestOf(bytes) },
      ...sealed.map(({ name, digest }) => ({ name: SECRETS_SUBJECT + name, digest })),
    ],
    PREDICATES.site,
    predicate,
  );
  const statement = await signPayload(payload, key);
  const what = `the new statement of site ${site}`;
  const verified = verifyStatement([statement], root.roles.release, PREDICATES.site, what);
  parseDocument('site-predicate', verified.predicate, what);
  parseDocument('site-values', values, `the values of site ${site}`);
  return {
    statement,
    values: bytes,
    payload: verified.digest,
    issuedAt: predicate.issuedAt,
    expires: predicate.expires,
  };
};
