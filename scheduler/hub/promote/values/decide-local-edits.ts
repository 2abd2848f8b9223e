import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { givenDigest } from '#bundles/formats/events/local-value';
import type { Digest } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { FleetError, isFleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { isSameJson } from '#bundles/json/is-same-json';
import type { Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { formatChannel } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import type { ValuesReview } from '../../../settings/values-review.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { type KnownNeeds, readNeeds } from '../../sites/read-needs.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { readLocalEdits, type SiteEdit } from '../../sites/local-edits.ts';
import { findSite } from '../../sites/set-values.ts';
import { type By, BY_RULE } from '../../store/open-store.ts';
import { acceptInRepository, acceptLocalEdit, refuseLocalEdit } from './answer-local-edit.ts';
import type { ValuesWriter } from './decide-in-repository.ts';
import { rejectProposal } from './end-proposal.ts';
import { readProposals } from './propose-values.ts';
import { rulesFor } from './rules-for.ts';

export type LocalDecision = {
  readonly row: SiteEdit;
  /** waiting: a person decides; `note` says why. */
  readonly outcome: 'accepted' | 'refused' | 'proposed' | 'waiting';
  readonly note: string | null;
};

export type LocalDecisions = {
  /** Of the edits that waited, in their order. */
  readonly decisions: readonly LocalDecision[];
  /** Answers that no agent has confirmed: the layout may lack the statements of these sites. */
  readonly answered: readonly { readonly site: string; readonly edit: Digest }[];
};

type Terms = {
  readonly review: ValuesReview | undefined;
  readonly now: Date;
  readonly signal?: AbortSignal | undefined;
  /** For where the repository decides (`siteValues.write`): an accepted value becomes a layer there. Without it the edit waits. */
  readonly repository?: ValuesRepository | undefined;
};

export type ValuesRepository = {
  readonly saveValues: ValuesWriter;
  /** The address of the pull request of a proposal, if it was closed without being merged. */
  readonly declined: (proposal: string) => Promise<string | undefined>;
};

/**
 * Decides about the values that people at sites set, by the setting siteValues.localEdits. An edit against a value that the office changed meanwhile,
 * and one that the newest release does not admit, waits for a person in any case. Each is one transaction; a kill between leaves the rest for the
 * next call. @throws FleetError the codes of the store and of signing
 */
export const decideLocalEdits = async (hub: Hub, terms: Terms): Promise<LocalDecisions> => {
  await endGone(hub);
  await rejectEnded(hub, terms.now);
  const waiting = await readLocalEdits(hub.store.db, { states: ['waiting'] });
  const proposals = waiting.length === 0 ? [] : await readProposals(hub.store.db, 'waiting');
  const proposed = new Set(
    proposals.flatMap(({ proposed: { changes } }) => changes.flatMap(({ local }) => local?.edit ?? [])),
  );
  const known: KnownNeeds = new Map();
  const decisions: LocalDecision[] = [];
  for (const row of waiting) {
    terms.signal?.throwIfAborted();
    if (proposed.has(row.edit)) {
      decisions.push({ row, outcome: 'proposed', note: null });
      continue;
    }
    const decision = await decide(hub, row, terms, known);
    if (decision.outcome === 'waiting' && decision.note !== row.note) await keepNote(hub, row, decision.note);
    decisions.push(decision);
  }
  const answered = await readLocalEdits(hub.store.db, { states: ['accepted', 'refused'] });
  return { decisions, answered: answered.filter(({ confirmed }) => confirmed === 0) };
};

const decide = async (
  hub: Hub,
  row: SiteEdit,
  { review, now, repository }: Terms,
  known: KnownNeeds,
): Promise<LocalDecision> => {
  const setting = review?.localEdits ?? 'ask';
  const by = { person: BY_RULE.person, reason: `siteValues.localEdits: ${setting}` };
  try {
    const office = await officeValues(hub, row, known);
    const isSame = hasValue(office, row);
    const declined = isSame ? undefined : await declinedOf(row, repository);
    if (declined !== undefined) {
      await refuseLocalEdit(hub, row, {
        by: { ...by, reason: `its pull request was closed without being merged: ${declined}` },
        now,
      });
      return { row, outcome: 'refused', note: null };
    }
    const conflict = isSame ? undefined : await conflictOf(hub, row, office.values);
    if (conflict !== undefined) return { row, outcome: 'waiting', note: conflict };
    const policy = isSame ? 'accept' : setting;
    if (policy === 'refuse') {
      await refuseLocalEdit(hub, row, { by, now });
      return { row, outcome: 'refused', note: null };
    }
    const isReviewed =
      (await rulesFor(hub, review, [{ site: row.site, agent: row.agentName, name: row.name }], known))
        .length > 0;
    if (policy === 'ask' && !isReviewed && !isSame) return { row, outcome: 'waiting', note: null };
    if (policy === 'accept' && !isSame && isWritten(review)) {
      const note = await writeOnce(hub, row, { by, now, review, repository });
      return { row, outcome: 'waiting', note };
    }
    const accepted = await acceptLocalEdit(hub, row, { by, now, review, isThere: isSame });
    return { row, outcome: accepted.kind === 'made' ? 'accepted' : 'proposed', note: null };
  } catch (error) {
    if (!(error instanceof FleetError) || !PERSONS.has(error.code)) throw error;
    return { row, outcome: 'waiting', note: error.message };
  }
};

const hasValue = ({ values }: Office, { value }: SiteEdit): boolean =>
  values.length > 0 && values.every((one) => isSameJson(one, valueIn(value)));

/** Whether values of sites are decided in the repository of the platform. */
const isWritten = (review: ValuesReview | undefined): boolean => (review?.write ?? 'hub') !== 'hub';

/** Writes an accepted value into the repository, and no second time: until it is merged and built, nothing differs here. @returns the note of the edit */
const writeOnce = async (
  hub: Hub,
  row: SiteEdit,
  { by, now, review, repository }: Pick<Terms, 'now' | 'review' | 'repository'> & { readonly by: By },
): Promise<string> => {
  if (row.note?.startsWith(IN_REPOSITORY) === true) return row.note;
  if (!repository) return FOR_SERVE;
  try {
    const write = repository.saveValues;
    const written = await acceptInRepository(hub, row, { by, now, review, write });
    const { place, pullRequest, commit, proposal } = written;
    if (pullRequest !== undefined && proposal !== undefined) await keepProposal(hub, row, proposal);
    return `${IN_REPOSITORY} ${place} (${pullRequest ?? commit ?? 'it is there already'}), and comes with a build`;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return error.message;
  }
};

/** The edits of other sites, and their answers, do not wait for a repository that refuses one; the next round tries again. */
const isRefusal = (error: unknown): error is FleetError => isFleetError(error) && error.code !== 'ABORTED';

/** The pull request of an edit that somebody closed without merging it. While the forge does not answer, the edit waits. */
const declinedOf = async (
  { proposal }: SiteEdit,
  repository: ValuesRepository | undefined,
): Promise<string | undefined> => {
  if (proposal === null || !repository) return undefined;
  try {
    return await repository.declined(proposal);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
};

/** Note of an edit that a command does not write there. */
const FOR_SERVE = 'the repository decides, and fleet-scheduler serve writes it there';

/** Begins the note of an edit that was written there. */
const IN_REPOSITORY = 'it was written into';

/** Codes of an edit that only a person can decide about. */
const PERSONS: ReadonlySet<string> = new Set([
  'SITE_VALUES',
  'VALUES_CHANGED',
  'SITE_MISSING',
  'AGENT_UNKNOWN',
  'SIGNER_REFUSED',
]);

type Office = { readonly values: readonly Json[] };

/** The values that the office has for the agent now, by assignment; else the default of the newest release. */
const officeValues = async (hub: Hub, row: SiteEdit, known: KnownNeeds): Promise<Office> => {
  const { db, fleet } = hub.store;
  const agent = await db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', row.agent)
    .executeTakeFirstOrThrow();
  const document = siteValuesOf(await findSite(db, row.site, row.agentName), fleet, row.site);
  const found = [undefined, ...assignmentsIn(document, row.agentName)].flatMap((assignment) => {
    const values = valuesOfAgent(document, row.agentName, assignment);
    return Object.hasOwn(values, row.name) ? [values[row.name] ?? null] : [];
  });
  if (found.length > 0) return { values: found };
  const channel = channelOf(agent);
  const needs = (await readNeeds(hub, [channel], known)).get(formatChannel(channel));
  const input = needs && Object.hasOwn(needs.inputs, row.name) ? needs.inputs[row.name] : undefined;
  return { values: isRecord(input) && input['default'] !== undefined ? [input['default']] : [] };
};

const assignmentsIn = ({ composed }: SiteValues, agent: string): readonly string[] => {
  const own = ownValue(composed ?? {}, agent);
  return [...Object.keys(own?.assignments ?? {}), ...Object.keys(own?.fixed?.assignments ?? {})];
};

/** Set when the office has another value than the edit overrode, unless that is an edit of this agent which the office accepted meanwhile. */
const conflictOf = async (hub: Hub, row: SiteEdit, values: readonly Json[]): Promise<string | undefined> => {
  const digests = values.map((one) => givenDigest(one) ?? null);
  if (values.length === 0 ? row.given_digest === null : digests.includes(row.given_digest)) return undefined;
  const before = await hub.store.db
    .selectFrom('local_edit')
    .select(['value', 'given_digest'])
    .where('agent', '=', row.agent)
    .where('life', '=', row.life)
    .where('name', '=', row.name)
    .where('state', '=', 'accepted')
    .where('seq', '<', row.seq)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const isOwn =
    before !== undefined &&
    before.given_digest === row.given_digest &&
    values.some((one) => isSameJson(one, valueIn(before.value)));
  if (isOwn) return undefined;
  const shown = values.map((one) => JSON.stringify(one).slice(0, 256));
  return `the office has changed it meanwhile, from ${row.given ?? 'nothing'} to ${[...new Set(shown)].join(' and ') || 'nothing'}; the site has ${row.value?.slice(0, 256)}`;
};

const valueIn = (text: string | null): Json => parseJson(text ?? 'null') as Json;

const keepNote = (hub: Hub, row: SiteEdit, note: string | null): Promise<void> => keep(hub, row, { note });

/** Branch of the pull request that an edit waits for. */
const keepProposal = (hub: Hub, row: SiteEdit, proposal: string): Promise<void> =>
  keep(hub, row, { proposal });

const keep = (
  hub: Hub,
  { agent, life, seq }: SiteEdit,
  kept: Partial<Pick<SiteEdit, 'note' | 'proposal'>>,
): Promise<void> =>
  hub.store.transact(async (tx) => {
    await tx
      .updateTable('local_edit')
      .set(kept)
      .where('agent', '=', agent)
      .where('life', '=', life)
      .where('seq', '=', seq)
      .where('state', '=', 'waiting')
      .execute();
  });

/** Ends what waits of agents that were revoked or have another key since: nobody there would read an answer. */
const endGone = async (hub: Hub): Promise<void> => {
  const { db } = hub.store;
  const gone = await db
    .selectFrom('local_edit')
    .innerJoin('agent', 'agent.id', 'local_edit.agent')
    .select(['local_edit.agent', 'local_edit.life', 'agent.revoked_at'])
    .where('local_edit.state', '=', 'waiting')
    .where((eb) =>
      eb.or([eb('agent.revoked_at', 'is not', null), eb('agent.life', '!=', eb.ref('local_edit.life'))]),
    )
    .distinct()
    .execute();
  for (const { agent, life, revoked_at: revoked } of gone)
    await hub.store.transact(async (tx) => {
      await tx
        .updateTable('local_edit')
        .set({
          state: 'ended',
          note: revoked === null ? 'the agent has another key since' : `the agent was revoked at ${revoked}`,
        })
        .where('agent', '=', agent)
        .where('life', '=', life)
        .where('state', '=', 'waiting')
        .execute();
    });
};

/** Rejects proposals of edits that do not wait any more: the site has changed the value again, or took it back. */
const rejectEnded = async (hub: Hub, now: Date): Promise<void> => {
  for (const proposal of await readProposals(hub.store.db, 'waiting')) {
    const edits = proposal.proposed.changes.flatMap(({ local }) => local?.edit ?? []);
    if (edits.length === 0) continue;
    const waiting = await hub.store.db
      .selectFrom('local_edit')
      .select('edit')
      .where('edit', 'in', edits)
      .where('state', '=', 'waiting')
      .execute();
    if (waiting.length > 0) continue;
    const reason = 'the local value does not wait any more: it was changed again or taken back at the site';
    await hub.store.transact((tx) => rejectProposal(tx, proposal, { person: null, reason }, now));
  }
};
