import { type Accepted, acceptChannel } from '#bundles/accept/accept-channel';
import { checkVersion } from '#bundles/accept/check-version';
import { keptUnder } from '#bundles/accept/kept-under';
import type { TrustState } from '#bundles/accept/trust-state';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel, sameChannel } from '#bundles/names';
import { verifyReceipt } from '#bundles/report/receipt';
import type { ReceiptPredicate } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import { VERSION } from '#bundles/version';
import type { Agent } from '../agent.ts';
import { fullName } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { isRevoked, readStatement, readTrustState, type StoredStatement } from '../store/trust.ts';
import type { Offer } from './read-offer.ts';

export type Judged = {
  readonly offer: Offer;
  readonly accepted: Accepted;
  /** The signed statements of the release's bundles, kept for whoever asks who built them. */
  readonly bundleStatements: readonly StoredStatement[];
  readonly receipts: readonly ReceiptPredicate[];
};

/**
 * Judges everything on a medium that is for this agent: the acceptance algorithm of the formats, and what only a store
 * can know. Changes nothing. @throws FleetError with the code of the attack table
 */
export const acceptMedium = async (agent: Agent, offer: Offer): Promise<Judged> => {
  const { state, edge, policy, identity } = agent;
  const trust = readTrustState(state);
  const { documents } = offer;
  const accepted = await acceptChannel(
    trust,
    documents,
    { now: edge.now(), trusted: edge.clockTrusted },
    { maxValidityDays: policy.maxValidityDays, agentVersion: VERSION },
  );
  checkReturnedChannel(state, trust, accepted);
  checkRevokedBefore(state, accepted);
  checkExtraBundles(offer, accepted);
  const receipts = await documents.receipts(fullName(identity));
  return {
    offer,
    accepted,
    bundleStatements: await bundleStatementsOf(offer, accepted),
    receipts: receipts.map((bytes) => verifyReceipt(bytes, accepted.root, fullName(identity))),
  };
};

/** A channel that this agent followed long ago has kept its floor. */
const checkReturnedChannel = (state: State, trust: TrustState, { root, site, release }: Accepted): void => {
  const { channel } = site.agent;
  if (!release || !trust.channel || sameChannel(trust.channel, channel)) return;
  const floor = readStatement(state, 'release', formatChannel(channel));
  checkVersion(
    keptUnder(floor, root.roles.release, PREDICATES.release),
    release.predicate.version,
    release.statement.digest,
    `the release of ${formatChannel(channel)}`,
  );
};

/** Revocations are cumulative: a later list that is silent about a bundle does not bring it back. */
const checkRevokedBefore = (state: State, { release }: Accepted): void => {
  const found = release?.bundles.find(({ digest }) => isRevoked(state, digest));
  if (!found) return;
  throw new FleetError('REVOKED', `bundle ${shortDigest(found.digest)} was revoked by an earlier release`, {
    subject: found.digest,
  });
};

/** A bundle of our channel that the release does not name has no business on the medium. */
const checkExtraBundles = ({ contents }: Offer, { release, site }: Accepted): void => {
  if (!release) return;
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
      // Read a second time, so verified a second time: a medium can change under our hands.
      const verified = verifyStatement(envelopes, root.roles.bundle, PREDICATES.bundle, what);
      return { envelopes, version: 1, digest: verified.digest, issuedAt: undefined, expires: undefined };
    }),
  );
