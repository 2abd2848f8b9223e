import { defined } from '#bundles/defined';
import { parseJson } from '#bundles/json/parse-json';
import type { Json } from '#bundles/json/canonical';
import type { ValuesReview } from '../../../settings/values-review.ts';
import type { Hub } from '../../hub.ts';
import { checkValues } from '../../sites/check-values.ts';
import { enrolledAgents } from '../../sites/enrolled-agents.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { answerLocalEdit, authorOf, checkWaiting, type SiteEdit } from '../../sites/local-edits.ts';
import { setManyValues } from '../../sites/set-many-values.ts';
import { findSite, type LocalAnswer, type ValueChange } from '../../sites/set-values.ts';
import { siteSigner } from '../../sites/site-signer.ts';
import type { By } from '../../store/open-store.ts';
import type { SiteRow } from '../../store/tables.ts';
import { proposeIfReviewed } from './change-values.ts';
import { decideInRepository, type ValuesWriter, type WrittenValues } from './decide-in-repository.ts';
import type { JudgedProposal } from './judge-proposal.ts';

export type AnswerTerms = {
  /** Person and reason of the answer; person null: the program, by the rule. */
  readonly by: By;
  readonly now: Date;
  readonly review: ValuesReview | undefined;
  /** The office has this value already: nothing but the answer is new. */
  readonly isThere?: boolean;
};

export type Accepted =
  | { readonly kind: 'proposed'; readonly proposal: JudgedProposal }
  | { readonly kind: 'made'; readonly rows: readonly SiteRow[] };

/**
 * Accepts a value that a person at a site set: it becomes the value of the site where the agent is its only one, else of the agent. Where the review
 * wants approvals it becomes a proposal by that person, and nothing is changed.
 * @returns with the sites that have another statement, which the layout does not have yet
 * @throws FleetError SITE_VALUES if the newest release does not admit it; VALUES_CHANGED if it does not wait any more, or is proposed; the codes of signing
 */
export const acceptLocalEdit = async (hub: Hub, row: SiteEdit, terms: AnswerTerms): Promise<Accepted> => {
  const { by, now, review, isThere = false } = terms;
  const change = await changeOf(hub, row);
  const set = isThere ? {} : await checkValues(hub, change, false);
  const author = authorOf(row);
  const changes = [{ ...change, set, answers: [answerOf(row, 'accepted', by)] }];
  const asAuthor: Hub = { ...hub, store: { ...hub.store, by: { person: author, reason: row.reason } } };
  const proposal = await proposeIfReviewed(asAuthor, changes, {
    review,
    now,
    allowUnknown: false,
    within: (tx) => checkWaiting(tx, row),
  });
  if (proposal) return { kind: 'proposed', proposal };
  const { sites: rows } = await setManyValues(hub.store, {
    changes,
    signer: await siteSigner(hub),
    now,
    change: 'sites values accept',
    by: { person: by.person ?? author, reason: reasonOf(row, by) },
    within: (tx) => answerLocalEdit(tx, row, { outcome: 'accepted', ...by, now }),
  });
  return { kind: 'made', rows };
};

/**
 * Writes a value that a person at a site set into the repository of the platform, as the layer of this site or agent. The edit waits until the site gets
 * the value from there, and is accepted then.
 * @throws FleetError SITE_VALUES if the newest release does not admit it; as decideInRepository
 */
export const acceptInRepository = async (
  hub: Hub,
  row: SiteEdit,
  { by, now, review, write }: Omit<AnswerTerms, 'isThere'> & { readonly write: ValuesWriter },
): Promise<WrittenValues> => {
  const change = await changeOf(hub, row);
  const set = await checkValues(hub, change, false);
  const { site, agent, unset } = change;
  const author = { person: by.person ?? authorOf(row), reason: reasonOf(row, by) };
  return await decideInRepository(
    { ...hub, store: { ...hub.store, by: author } },
    [{ siteSelector: defined({ site, agent }), set, unset, changes: [{ ...change, set }] }],
    { write, review, now },
  );
};

/** Refuses a value that a person at a site set: the next statement of the site takes it back there. @throws FleetError VALUES_CHANGED */
export const refuseLocalEdit = async (
  hub: Hub,
  row: SiteEdit,
  { by, now }: Pick<AnswerTerms, 'by' | 'now'>,
): Promise<readonly SiteRow[]> => {
  const { sites } = await setManyValues(hub.store, {
    changes: [{ site: row.site, set: {}, unset: [], answers: [answerOf(row, 'refused', by)] }],
    signer: await siteSigner(hub),
    now,
    change: 'sites values refuse',
    by: { person: by.person, reason: reasonOf(row, by) },
    within: (tx) => answerLocalEdit(tx, row, { outcome: 'refused', ...by, now }),
  });
  return sites;
};

const MAX_REASON = 1000;

const reasonOf = (row: SiteEdit, { reason }: By): string =>
  `${reason === null ? '' : `${reason}; `}set there by ${authorOf(row)}: ${row.reason}`.slice(0, MAX_REASON);

const answerOf = (
  { agentName: agent, name, edit }: SiteEdit,
  outcome: 'accepted' | 'refused',
  { person, reason }: By,
): LocalAnswer => ({
  agent,
  name,
  edit,
  outcome,
  ...defined({ person: person ?? undefined, reason: reason ?? undefined }),
});

const changeOf = async (hub: Hub, { site, agentName, name, value }: SiteEdit): Promise<ValueChange> => {
  const { db, fleet } = hub.store;
  const document = siteValuesOf(await findSite(db, site, agentName), fleet, site);
  const agents = await enrolledAgents(db, site);
  const own = document.agents[agentName] ?? {};
  const isSites = agents.length === 1 && !Object.hasOwn(own, name);
  return {
    site,
    ...defined({ agent: isSites ? undefined : agentName }),
    set: { [name]: parseJson(value ?? 'null') as Json },
    unset: [],
  };
};
