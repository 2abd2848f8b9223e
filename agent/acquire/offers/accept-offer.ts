import { type Accepted, acceptChannel } from '#bundles/trust/accept/accept-channel';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel, sameChannel } from '#bundles/names';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import type { ReceiptPredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { VERSION } from '#bundles/version';
import type { Agent } from '../../store/agent.ts';
import { fullName } from '../../store/identity.ts';
import { readTrustState, type StoredStatement } from '../../store/trust.ts';
import type { Offer } from './read-offer.ts';

export type Judged = {
  readonly offer: Offer;
  readonly accepted: Accepted;
  /** The signed statements of the release's bundles, stored as evidence of their origin. */
  readonly bundleStatements: readonly StoredStatement[];
  readonly receipts: readonly ReceiptPredicate[];
};

/** `acceptExpired`: an operator decided to accept expired statements (break-glass). */
export type OfferOptions = { readonly acceptExpired?: boolean };

/**
 * Judges everything in an offer that is for this agent: the acceptance algorithm of the format, and checks that need the
 * store. The same for a medium, a registry and a hub's answer. Changes nothing.
 * @throws FleetError with the code of the attack table
 */
export const acceptOffer = async (
  agent: Agent,
  offer: Offer,
  { acceptExpired = false }: OfferOptions = {},
): Promise<Judged> => {
  const { state, edge, policy, identity } = agent;
  const trust = readTrustState(state);
  const { documents } = offer;
  const accepted = await acceptChannel(
    trust,
    documents,
    { now: edge.now(), trusted: edge.clockTrusted },
    { maxValidityDays: policy.maxValidityDays, agentVersion: VERSION, acceptExpired },
  );
  checkExtraBundles(offer, accepted);
  const receipts = await documents.receipts(fullName(identity));
  return {
    offer,
    accepted,
    bundleStatements: await bundleStatementsOf(offer, accepted),
    receipts: receipts.map((bytes) => verifyReceipt(bytes, accepted.root, fullName(identity))),
  };
};

/** Refuses a bundle of this agent's channel that the release does not name. @throws FleetError EXTRA_BUNDLE */
const checkExtraBundles = ({ source }: Offer, { release, site }: Accepted): void => {
  const contents = source.medium?.medium;
  if (!release || !contents) return;
  const named = new Set(release.bundles.map(({ digest }) => digest));
  const extra = contents.bundles.find(
    (bundle) => sameChannel(bundle, site.agent.channel) && !named.has(bundle.digest),
  );
  if (!extra) return;
  throw new FleetError(
    'EXTRA_BUNDLE',
    `the medium has bundle ${shortDigest(extra.digest)} for ${formatChannel(site.agent.channel)}, which its release does not name`,
    { subject: extra.digest },
  );
};

const bundleStatementsOf = async (
  { documents }: Offer,
  { root, release }: Accepted,
): Promise<readonly StoredStatement[]> =>
  Promise.all(
    (release?.bundles ?? []).map(async ({ digest }) => {
      const envelopes = await documents.bundleStatements(digest);
      const what = `the statement of bundle ${shortDigest(digest)}`;
      // Verified again because it is read again: the content of a medium or registry can change at any time.
      const verified = verifyStatement(envelopes, root.roles.bundle, PREDICATES.bundle, what);
      return { envelopes, version: 1, digest: verified.digest, issuedAt: undefined, expires: undefined };
    }),
  );
