import { defined } from '#bundles/defined';
import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Candidate } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { checkFleet } from '../../../assemble/candidate/check-candidate.ts';
import { sharedDigest } from '../../../assemble/candidate/shared-digest.ts';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import { decide } from '../../../release/audit/decide.ts';
import { submittedTo } from '../../../release/chain/submitted.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import { checkEnvironment } from '../facts/link.ts';
import { type Chain, LOCK_WAIT_MS, type DecisionRequest } from './chain.ts';

export type Submitted = {
  readonly environment: string;
  /** null: the environment is built from the newest state again. */
  readonly candidate: Digest | null;
  readonly shared: Digest | null;
  readonly person: string;
  readonly reason: string;
  /** `known`: it is what was submitted last; nothing was written. */
  readonly outcome: 'submitted' | 'known';
};

/**
 * Takes a candidate that was made elsewhere for an environment that nothing is promoted to: it is built instead of the newest
 * state, until another one is submitted, or until that is ended with null. The candidate is on disk before the decision is.
 * @throws FleetError NOT_PROMOTED for an environment that candidates are promoted to; CANDIDATE_MISMATCH for another fleet or
 *   environment; USAGE for the reason or an unknown environment; BUSY; the codes of appendEntry
 */
export const submitCandidate = async (
  { hub, promotion }: Chain,
  request: DecisionRequest & { readonly candidate: Candidate | null; readonly reason: string },
): Promise<Submitted> => {
  const { environment, candidate: document, person, reason, now } = request;
  checkEnvironment(promotion, environment);
  const before = promotion.environments.find(({ name }) => name === environment)?.promotedFrom;
  if (before !== undefined)
    throw new FleetError('NOT_PROMOTED', `${environment} gets its candidates by promotion from ${before}`, {
      subject: environment,
      hint: `Submit the candidate to the first environment of the chain, and promote it to ${environment}`,
    });
  const bytes = document && canonicalBytes(document);
  const lineage = document && bytes && { candidate: digestOf(bytes), shared: sharedDigest(document) };
  if (document && lineage) {
    checkFleet({ document, digest: lineage.candidate }, hub.keys.root.fleet);
    if (document.environment !== environment) throw isOfAnother(document, lineage.candidate, environment);
  }
  using releases = await openReleases(hub.layout, { command: 'submit', now, waitMs: LOCK_WAIT_MS });
  const layout = await releases.open();
  const { candidate = null, shared = null } = lineage ?? {};
  const common = { environment, candidate, shared, person, reason };
  const last = submittedTo(await readAuditLog(layout, hub.keys.roots), environment) ?? null;
  if (last === candidate) return { ...common, outcome: 'known' };
  if (bytes && candidate !== null) await layout.blobs.write(candidate, bytes.byteLength, bytes);
  await decide(
    releases,
    hub.keys,
    defined({
      decision: 'submit',
      environment,
      candidate: lineage || undefined,
      person,
      reason,
      now,
    }),
  );
  return { ...common, outcome: 'submitted' };
};

const isOfAnother = ({ environment }: Candidate, digest: Digest, to: string): FleetError =>
  new FleetError(
    'CANDIDATE_MISMATCH',
    `candidate ${shortDigest(digest)} is ${environment === undefined ? 'of no environment' : `of ${environment}`}, and not of ${to}`,
    { subject: to, hint: 'Submit it to its own environment' },
  );
