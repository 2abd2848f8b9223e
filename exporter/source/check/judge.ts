import { acceptChannel } from '#bundles/trust/accept/accept-channel';
import { type AcceptedRelease, acceptRelease } from '#bundles/trust/accept/accept-release';
import { acceptRoot } from '#bundles/trust/accept/accept-root';
import { type From, readChannelDocuments } from '#bundles/trust/accept/documents';
import { sealedSetsOf } from '#bundles/trust/accept/sealed-sets-of';
import {
  type AcceptPolicy,
  type Clock,
  DEFAULT_MAX_VALIDITY_DAYS,
  type TrustState,
} from '#bundles/trust/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import type { ReceiptPredicate, SitePredicate, SiteValues } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { readRoot } from '#bundles/trust/root/read-root';
import type { TrustRoot } from '#bundles/trust/root/root';
import { parseAs } from '#bundles/json/parse-as';
import { SITE_PREDICATE } from '#bundles/json/schema/validators';

/** Documents of a source or medium, verified as by a new agent. */
export type Evidence = {
  readonly blobs: BlobSource;
  readonly documents: readonly Document[];
  readonly now: Date;
  /** With 'registry', invalid documents that any client may have pushed are skipped. */
  readonly from?: From;
};

/** Accepts every `minAgent`: the versions of the agents are not known here. */
const POLICY: AcceptPolicy = { maxValidityDays: DEFAULT_MAX_VALIDITY_DAYS, agentVersion: '999999.0.0' };

const clockOf = ({ now }: Evidence): Clock => ({ now, trusted: true });

const newcomer = (fleet: string, pinnedRoot: Digest, root: TrustRoot | undefined): TrustState => ({
  fleet,
  site: '',
  agent: '',
  key: '',
  pinnedRoot,
  root,
  siteStatement: undefined,
  release: undefined,
  channel: undefined,
  time: undefined,
});

/**
 * Returns the newest root of the chain.
 * @param pinned SHA-256 from the user. Without it the chain starts at the oldest root of the documents, which proves that they
 *   are consistent, not who signed them
 * @throws FleetError ROOT_*, TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY
 */
export const judgeRoots = async (evidence: Evidence, pinned?: Digest): Promise<TrustRoot> => {
  const { roots } = await readChannelDocuments(evidence.blobs, evidence.documents, '');
  const [oldest] = roots.map((bytes) => readRoot(bytes)).toSorted((a, b) => a.version - b.version);
  if (!oldest) {
    throw new FleetError('ROOT_UNKNOWN', `${evidence.blobs.name} has no trust root`, {
      hint: 'Build it again; every release carries the roots',
    });
  }
  return acceptRoot(newcomer(oldest.fleet, pinned ?? oldest.digest, undefined), roots, clockOf(evidence));
};

/**
 * Documents of one site or channel, without the roots: the newest root is known, and verifying the chain again for each of ten
 * thousand agents would take longer than the export.
 */
const concerning = ({ documents }: Evidence, site: string | undefined): readonly Document[] =>
  documents.filter((document) => document.role !== 'root' && (!document.site || document.site === site));

/** @throws FleetError with the code with which a site would refuse this release */
export const judgeRelease = async (
  evidence: Evidence,
  root: TrustRoot,
  channel: Channel,
): Promise<AcceptedRelease> =>
  acceptRelease(
    newcomer(root.fleet, root.digest, root),
    root,
    await readChannelDocuments(evidence.blobs, concerning(evidence, undefined), '', evidence.from),
    channel,
    // The requirements of a site statement are judged with the site.
    Number.MAX_SAFE_INTEGER,
    clockOf(evidence),
    POLICY,
  );

/**
 * Verifies the site statement, then for each of its agents everything that the agent will verify.
 * @throws FleetError with the code with which the agent would refuse it
 */
export const judgeSite = async (
  evidence: Evidence,
  root: TrustRoot,
  site: string,
): Promise<SitePredicate & { readonly values: SiteValues }> => {
  const documents = await readChannelDocuments(
    evidence.blobs,
    concerning(evidence, site),
    site,
    evidence.from,
  );
  const what = `the statement of site ${site}`;
  const verified = verifyStatement(documents.site, root.roles.release, PREDICATES.site, what);
  const predicate = parseAs(SITE_PREDICATE, verified.predicate, what);
  if (predicate.audience.fleet !== root.fleet || predicate.audience.site !== site) {
    throw new FleetError(
      'WRONG_SITE',
      `${what} was signed for ${predicate.audience.fleet}/${predicate.audience.site}`,
    );
  }
  // Only the agents can open sealed sets; their digests can be checked here.
  for (const { digest } of sealedSetsOf(verified.subjects, what)) await documents.named(digest, 'secrets');
  let values: SiteValues = { fleet: root.fleet, site, values: {}, agents: {} };
  for (const agent of predicate.agents) {
    const state = { ...newcomer(root.fleet, root.digest, root), site, agent: agent.name, key: agent.key };
    const accepted = await acceptChannel(state, documents, clockOf(evidence), POLICY);
    values = accepted.site.values ?? values;
  }
  return { ...predicate, values };
};

/** All receipts of an agent, by the digest of the document. @throws FleetError MISSING_BLOB, RECEIPT_INVALID, and the errors of verifyStatement */
export const judgeReceipts = async (
  { blobs, documents }: Evidence,
  root: TrustRoot,
  agent: string,
): Promise<ReadonlyMap<Digest, ReceiptPredicate>> => {
  const found = new Map<Digest, ReceiptPredicate>();
  for (const document of documents) {
    if (document.role !== 'receipt' || document.agent !== agent) continue;
    const bytes = await readBlob(blobs, document.digest, MAX_STATEMENT_BYTES);
    found.set(document.digest, verifyReceipt(bytes, root, agent));
  }
  return found;
};
