import { acceptChannel } from '#bundles/accept/accept-channel';
import { type AcceptedRelease, acceptRelease } from '#bundles/accept/accept-release';
import { acceptRoot } from '#bundles/accept/accept-root';
import { type From, readChannelDocuments } from '#bundles/accept/documents';
import { sealedSetsOf } from '#bundles/accept/sealed-sets-of';
import {
  type AcceptPolicy,
  type Clock,
  DEFAULT_MAX_VALIDITY_DAYS,
  type TrustState,
} from '#bundles/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Document } from '#bundles/layout/document';
import { readBlob } from '#bundles/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { verifyReceipt } from '#bundles/report/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import type { ReceiptPredicate, SitePredicate, SiteValues } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import { readRoot } from '#bundles/trust/read-root';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';

/** Documents of a source or medium, to be judged as an agent that has never seen any would. */
export type Evidence = {
  readonly blobs: BlobSource;
  readonly documents: readonly Document[];
  readonly now: Date;
  /** Of a registry, what anybody may have pushed is left aside and not fatal. */
  readonly from?: From;
};

/** How old the agents out there are is theirs to say; here every `minAgent` is fine. */
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
 * The newest root at the end of the chain. `pinned` is the SHA-256 given by hand; without it the chain starts at the
 * oldest root there, which proves that the documents agree, not who wrote them.
 * @throws FleetError ROOT_UNKNOWN, ROOT_* and those of parsing
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
 * What concerns one site or one channel alone. The roots are left out: the newest is known by then, and to walk their chain
 * again for each of ten thousand agents would take longer than the export.
 */
const concerning = ({ documents }: Evidence, site: string | undefined): readonly Document[] =>
  documents.filter((document) => document.role !== 'root' && (!document.site || document.site === site));

/** @throws FleetError with the code that a site would refuse this release with */
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
    // What a site needs of its own statement is judged with the site.
    Number.MAX_SAFE_INTEGER,
    clockOf(evidence),
    POLICY,
  );

/**
 * The site's statement, then for each of its agents all that the agent will judge.
 * @throws FleetError with the code that the agent would refuse it with
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
  const predicate = parseDocument<SitePredicate>('site-predicate', verified.predicate, what);
  if (predicate.audience.fleet !== root.fleet || predicate.audience.site !== site) {
    throw new FleetError(
      'WRONG_SITE',
      `${what} is really for ${predicate.audience.fleet}/${predicate.audience.site}`,
    );
  }
  // Only its agents can open them; that they are the ones the statement names can be told by anybody.
  for (const { digest } of sealedSetsOf(verified.subjects, what)) await documents.named(digest, 'secrets');
  let values: SiteValues = { fleet: root.fleet, site, values: {}, agents: {} };
  for (const agent of predicate.agents) {
    const state = { ...newcomer(root.fleet, root.digest, root), site, agent: agent.name, key: agent.key };
    const accepted = await acceptChannel(state, documents, clockOf(evidence), POLICY);
    values = accepted.site.values ?? values;
  }
  return { ...predicate, values };
};

/** Every receipt there is, by the digest of its document. @throws FleetError those of verifyReceipt, MISSING_BLOB ... */
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
