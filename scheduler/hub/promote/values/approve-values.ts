import { APPROVAL_SITE_VALUES, type ApprovalPredicate } from '#bundles/formats/statements/predicates';
import { FleetError } from '#bundles/errors';
import { givenValues } from '#bundles/formats/author-schema/decided-values';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { ownValue } from '#bundles/own-value';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { ProposedValue, ProposedValues } from '../../../model/proposed-values.ts';
import { verifyEntry } from '../../../load/releases/audit-log.ts';
import { appendEntry } from '../../../release/audit/append-entry.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import type { Hub } from '../../hub.ts';
import { agentId } from '../../sites/agent-record.ts';
import { checkValues } from '../../sites/check-values.ts';
import type { KnownNeeds } from '../../sites/read-needs.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { answerLocalEdit, readLocalEdits } from '../../sites/local-edits.ts';
import { type ManySites, setManyValues } from '../../sites/set-many-values.ts';
import { policiesFor } from '../../sites/values-policies.ts';
import type { StoredRollout } from '../../sites/values-rollout.ts';
import { findSite } from '../../sites/set-values.ts';
import { siteSigner } from '../../sites/site-signer.ts';
import { valuesAt } from '../../sites/values-at.ts';
import { settleSites } from '../../sites/layers/settle-sites.ts';
import type { By } from '../../store/open-store.ts';
import type { SiteRow, Tx } from '../../store/tables.ts';
import { approvalStatement, NO_DIGEST, signApproval } from '../decide/approve-for.ts';
import { LOCK_WAIT_MS } from '../decide/chain.ts';
import { approvalFiles, type JudgedProposal, judgeProposal } from './judge-proposal.ts';
import { endProposal, rejectProposal } from './end-proposal.ts';
import { changesOf, findProposal, type Proposal, shortId, whoseOf } from './propose-values.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';

/** An approval of a proposal, before it is signed. */
export type ApprovalRequest = {
  /** The id of a waiting proposal, or its first digits. */
  readonly id: string;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
};

export type Approving = ApprovalRequest & {
  /** The approver's own key, one of the root's bundle role. */
  readonly key: SigningKey;
};

export type ApprovedValues = JudgedProposal & {
  /** Sites with another statement; undefined: the proposal waits for more approvals. */
  readonly applied: readonly SiteRow[] | undefined;
  /** Rollouts that bring the change to the other sites. */
  readonly rollouts: readonly StoredRollout[];
};

/**
 * Signs a person's approval of a proposal, and makes the change once all that is needed is there: judged again by the releases, rules and values as
 * they are now. A call after a kill makes the change of approvals that are in the log.
 * @throws FleetError NOTHING_AWAITING; VALUES_CHANGED if a value is another than when it was proposed; SITE_VALUES if one does not fit any more;
 *   USAGE for the author; UNKNOWN_KEY, BUSY; the codes of appendEntry
 */
export const approveValues = async (
  hub: Hub,
  { key, ...request }: Approving,
  review: ValuesReview | undefined,
): Promise<ApprovedValues> => {
  const proposal = await findProposal(hub.store.db, request.id);
  await refuseAuthor(hub, proposal, request.person, review);
  const statement = await signApproval(proposal.row.id, predicateOf(hub, proposal, request), key);
  return takeApproval(hub, proposal, { ...request, statement }, review);
};

/**
 * The statement that a person approves a proposal, to be signed outside of this program. @returns the exact bytes to sign
 * @throws FleetError NOTHING_AWAITING; USAGE for the author
 */
export const draftValuesApproval = async (
  hub: Hub,
  request: ApprovalRequest,
  review: ValuesReview | undefined,
): Promise<Buffer> => {
  const proposal = await findProposal(hub.store.db, request.id);
  await refuseAuthor(hub, proposal, request.person, review);
  return approvalStatement(proposal.row.id, predicateOf(hub, proposal, request));
};

/**
 * As approveValues, with an approval that was signed outside of this program. The signature identifies the approver, so any caller may hand it over
 * that `see` does not refuse.
 * @param statement a sigstore bundle
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, BUNDLE_FORMAT, WRONG_FLEET for the signature; SCHEMA for another statement; the codes of approveValues
 */
export const takeValuesApproval = async (
  hub: Hub,
  statement: { readonly [key: string]: Json },
  { now, see }: { readonly now: Date; readonly see: (proposal: string) => Promise<void> },
  review: ValuesReview | undefined,
): Promise<ApprovedValues & { readonly approver: string }> => {
  const line = { number: 1, previous: null, at: formatTime(now), kind: 'approval', statement } as const;
  const entry = verifyEntry({ ...line, digest: NO_DIGEST }, hub.keys.roots);
  if (entry.kind !== 'approval' || entry.predicate.about !== 'site-values')
    throw new FleetError('SCHEMA', 'this statement approves no change of values', {
      hint: 'Sign the statement that the hub drafts',
    });
  const { shared, person, reason, critical } = entry.predicate;
  if (entry.candidate !== shared || !critical.includes(APPROVAL_SITE_VALUES))
    throw new FleetError(
      'SCHEMA',
      `an approval of values names the proposal twice, and ${APPROVAL_SITE_VALUES} in critical`,
      {
        hint: 'Sign the statement that the hub drafts',
      },
    );
  await see(shared);
  const proposal = await findProposal(hub.store.db, shared);
  await refuseAuthor(hub, proposal, person, review);
  const bytes = Buffer.from(JSON.stringify(statement));
  const taken = await takeApproval(
    hub,
    proposal,
    { id: shared, person, reason, now, statement: bytes },
    review,
  );
  return { ...taken, approver: person };
};

const refuseAuthor = async (
  hub: Hub,
  proposal: Proposal,
  person: string,
  review: ValuesReview | undefined,
): Promise<void> => {
  const { row } = proposal;
  if (person !== row.person) return;
  if ((await judgeProposal(hub, proposal, review)).conditions.every(({ met }) => met)) return;
  throw new FleetError(
    'USAGE',
    `${person} proposed ${shortId(row.id)}: the author of a change cannot approve it`,
    {
      hint: 'Let somebody else approve it, with their own key and --person',
    },
  );
};

const predicateOf = (
  hub: Hub,
  { row, proposed }: Proposal,
  { person, reason, now }: ApprovalRequest,
): ApprovalPredicate => ({
  fleet: hub.keys.root.fleet,
  to: proposed.changes[0]?.site ?? 'site',
  shared: row.id,
  about: 'site-values',
  person,
  reason,
  time: formatTime(now),
  critical: [APPROVAL_SITE_VALUES],
});

const takeApproval = async (
  hub: Hub,
  proposal: Proposal,
  { statement, person, reason, now }: ApprovalRequest & { readonly statement: Buffer },
  review: ValuesReview | undefined,
): Promise<ApprovedValues> => {
  {
    using releases = await openReleases(hub.layout, { command: 'approve', now, waitMs: LOCK_WAIT_MS });
    await appendEntry(releases, hub.keys, { kind: 'approval', statement }, now);
  }
  const judged = await judgeProposal(hub, proposal, review);
  if (!judged.conditions.every(({ met }) => met)) return { ...judged, applied: undefined, rollouts: [] };
  const { sites, rollouts } = await applyProposal(hub, judged, { person, reason }, now);
  return { ...judged, applied: sites, rollouts };
};

const applyProposal = async (
  hub: Hub,
  { row, proposed, approvals }: JudgedProposal,
  last: { readonly person: string; readonly reason: string },
  now: Date,
): Promise<ManySites> => {
  const known: KnownNeeds = new Map();
  const changes = [];
  for (const change of changesOf(proposed)) {
    await findSite(hub.store.db, change.site, change.agent);
    changes.push({
      ...change,
      set: await checkValues(hub, change, proposed.allowUnknown === true, { needs: known }),
    });
  }
  const approved = [...(await approvalFiles(hub, approvals)), Buffer.from(row.document)];
  const names = approvals.map(({ person }) => person).join(', ');
  const by: By = {
    person: proposed.person,
    reason: `${proposed.reason ?? ''} (proposal ${shortId(row.id)}, approved by ${names})`
      .trim()
      .slice(0, 1000),
  };
  return setManyValues(hub.store, {
    changes,
    signer: { ...(await siteSigner(hub)), approved },
    now,
    by,
    policies: await policiesFor(hub),
    proposal: row.id,
    allowUnknown: proposed.allowUnknown === true,
    within: async (tx) => {
      await checkUnchanged(tx, { row, proposed });
      for (const edit of editsOf(proposed))
        await answerLocalEdit(tx, edit, { outcome: 'accepted', ...last, now });
      const ended = await endProposal(tx, { row, proposed }, { state: 'applied', by: last, now });
      if (!ended) await findProposal(tx, row.id);
    },
  });
};

/**
 * Rejects a proposal: its change is never made. A value that a person at a site set is refused with it: the next statement of the site, which is
 * laid out, takes it back there. @throws FleetError NOTHING_AWAITING, VALUES_CHANGED; the codes of signing for a value of a site
 */
export const rejectValues = async (
  hub: Hub,
  id: string,
  by: { readonly person: string; readonly reason: string },
  now: Date,
): Promise<Proposal> => {
  const proposal = await findProposal(hub.store.db, id);
  const { row, proposed } = proposal;
  const end = async (tx: Tx): Promise<void> => {
    if (!(await rejectProposal(tx, proposal, by, now))) await findProposal(tx, row.id);
  };
  const waiting = await readLocalEdits(hub.store.db, { states: ['waiting'] });
  const edits = editsOf(proposed).filter(({ edit }) => waiting.some((one) => one.edit === edit));
  if (edits.length === 0) {
    await hub.store.transact(end);
    return proposal;
  }
  const { sites } = await setManyValues(hub.store, {
    changes: edits.map(({ site, answer }) => ({
      site,
      set: {},
      unset: [],
      answers: [{ ...answer, outcome: 'refused' as const, ...by }],
    })),
    signer: await siteSigner(hub),
    now,
    change: 'sites values reject',
    by,
    within: async (tx) => {
      for (const edit of edits) await answerLocalEdit(tx, edit, { outcome: 'refused', ...by, now });
      await end(tx);
    },
  });
  await settleSites(hub, sites, { now, command: 'sites values reject' });
  return proposal;
};

/** The local edits that a proposal answers. */
const editsOf = ({ changes }: ProposedValues) =>
  changes.flatMap(({ site, name, local }) =>
    local
      ? [
          {
            site,
            agent: agentId(site, local.agent),
            edit: local.edit,
            answer: { agent: local.agent, name, edit: local.edit },
          },
        ]
      : [],
  );

/** Checks that each value is what it was when the change was proposed. @throws FleetError VALUES_CHANGED, with the name of who changed it */
const checkUnchanged = async (tx: Tx, { row, proposed }: Proposal): Promise<void> => {
  for (const [site, own] of Map.groupBy(proposed.changes, (one) => one.site)) {
    const found = await findSite(tx, site, undefined);
    const values = siteValuesOf(found, proposed.fleet, site);
    for (const one of own) {
      const now = ownValue(givenValues(values, one.agent ?? undefined), one.name);
      if (isSameJson(now, one.old)) continue;
      throw await changedSince(tx, row.person, one);
    }
  }
};

const changedSince = async (
  tx: Tx,
  author: string,
  { site, agent, name }: ProposedValue,
): Promise<FleetError> => {
  const now = await valuesAt(tx, site);
  const newest = now?.values.find((one) => one.agent === agent && one.name === name);
  const who = newest ? `${newest.person ?? 'a rule'} changed` : 'somebody removed';
  const when = newest?.since ?? now?.since;
  return new FleetError(
    'VALUES_CHANGED',
    `${who} the value ${name} of ${whoseOf({ site, agent })} at ${when}, after ${author} proposed this`,
    { hint: 'Reject this proposal, and set the value again if it is still meant' },
  );
};
