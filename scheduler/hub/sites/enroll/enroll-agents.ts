import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import { isSameJson } from '#bundles/json/is-same-json';
import { formatTime } from '#bundles/time';
import { type NotedChange, noteChange } from '../../changes/note-change.ts';
import { orRefuse, type Refused } from '../../refused.ts';
import { BY_RULE, type Store } from '../../store/open-store.ts';
import type { AgentRow, SiteRow, Tx } from '../../store/tables.ts';
import { describeAgent } from '../describe-agent.ts';
import { findOlder } from '../find-older.ts';
import { enrolledAgents } from '../enrolled-agents.ts';
import { issueSite, type SiteSigner, siteValuesOf } from '../issue-site.ts';
import type { ComposedAgent } from '../layers/compose-agent.ts';
import { withComposed } from '../layers/plan-sites.ts';
import { type EnrolmentOptions, type EnrolmentStep, planEnrolment } from './plan-enrolment.ts';
import type { EnrolmentRequest, TokenProof } from './read-requests.ts';

export type Enrolment = {
  readonly request: EnrolmentRequest;
  readonly step: EnrolmentStep;
  /** undefined: its composed values stay as they are. */
  readonly composed: ComposedAgent | undefined;
};

/**
 * Checks the token that a request proves, and returns the terms of it and what uses it up.
 * @throws FleetError TOKEN_INVALID
 */
export type Redeem = (
  tx: Tx,
  proof: TokenProof,
  request: EnrolmentRequest,
) => Promise<{ readonly terms: EnrolmentOptions; readonly use: () => Promise<void> }>;

/** A site after its requests were processed. The statement is new if anything changed. */
export type EnrolledSite = { readonly site: SiteRow; readonly enrolments: readonly Enrolment[] };

/** Requests by the name of their site. */
export type RequestsBySite = readonly (readonly [site: string, requests: readonly EnrolmentRequest[]])[];

export type EnrollTerms = {
  readonly options: EnrolmentOptions & { readonly redeem?: Redeem | undefined };
  readonly signer: SiteSigner;
  readonly now: Date;
};

/**
 * Enrols all requests of some sites in one transaction, with one statement a site. Refused requests are added to `refused` and
 * change nothing.
 * @returns the sites of which a request was accepted
 */
export const enrollSites = (
  store: Store,
  sites: RequestsBySite,
  refused: Refused[],
  { options, signer, now }: EnrollTerms,
): Promise<readonly EnrolledSite[]> =>
  store.transact(async (tx) => {
    const enrolled: EnrolledSite[] = [];
    // Before anything is changed: the transaction is shared by all sites.
    const names = sites.map(([site]) => site);
    const older = await findOlder(tx, names, signer);
    for (const [site, requests] of sites) {
      const error = older.get(site);
      if (error) {
        refused.push(...requests.map(({ path }) => ({ path, error })));
        continue;
      }
      const enrolments: Enrolment[] = [];
      for (const request of requests) {
        const one = await orRefuse(refused, request.path, () =>
          enrollRequest(tx, request, { ...options, by: store.by }, now),
        );
        if (one) enrolments.push(one);
      }
      if (enrolments.length > 0)
        enrolled.push({ site: await issueIfChanged(tx, site, enrolments, signer, now), enrolments });
    }
    return enrolled;
  });

/** By the terms of its token, if it proves one. */
const enrollRequest = async (
  tx: Tx,
  request: EnrolmentRequest,
  options: EnrollTerms['options'],
  now: Date,
): Promise<Enrolment> => {
  const { redeem, factLabels, composeAgent, by } = options;
  if (!redeem || !request.proof) return await enrollAgent(tx, request, options, now);
  // A refused request must not use up its token.
  const { terms, use } = await redeem(tx, request.proof, request);
  const own = { ...terms, factLabels, composeAgent, by: { ...by, ...terms.by } };
  const done = await enrollAgent(tx, request, own, now);
  await use();
  return done;
};

/** Issues the next site statement, or returns the current one if nothing changed. */
export const issueIfChanged = async (
  tx: Tx,
  site: string,
  enrolments: readonly Enrolment[],
  signer: SiteSigner,
  now: Date,
): Promise<SiteRow> => {
  const known = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  const unchanged = enrolments.every(({ step }) => step.kind === 'unchanged');
  if (known && unchanged) return known;
  const composed = enrolments.flatMap(({ step, composed: of }) => (of ? [{ name: step.row.name, of }] : []));
  return await issueComposed(tx, { site, known, composed }, signer, now);
};

type ComposedSite = {
  readonly site: string;
  readonly known: SiteRow | undefined;
  /** Agents with new values from layers; the others keep theirs. */
  readonly composed: readonly { readonly name: string; readonly of: ComposedAgent }[];
};

/** Issues the next site statement with values from layers, and notes them. */
export const issueComposed = async (
  tx: Tx,
  { site, known, composed }: ComposedSite,
  signer: SiteSigner,
  now: Date,
): Promise<SiteRow> => {
  const before = siteValuesOf(known, signer.root.fleet, site);
  const kept = Object.entries(before.composed ?? {}).filter(
    ([agent]) => !composed.some(({ name }) => name === agent),
  );
  const given = composed.flatMap(({ name, of: { values } }) => (values ? [[name, values] as const] : []));
  const after = withComposed(before, Object.fromEntries([...kept, ...given]));
  if (isSameJson(after, before)) return await issueSite(tx, site, signer, now);
  const reason = [...new Set(composed.map(({ of }) => of.reason))].join(', ');
  const agents = await enrolledAgents(tx, site);
  const hidden = await signer.readHidden(agents);
  const changes = decidedValues(before, after, hidden(agents));
  if (changes.length === 0) return await issueSite(tx, site, signer, now);
  const by = { ...BY_RULE, ...signer.by, reason };
  const decided: NotedChange[] = [];
  for (const change of changes)
    decided.push(await noteChange(tx, { change: 'sites compose', ...change }, by, now));
  return await issueSite(tx, site, { ...signer, by, decided }, now, after);
};

/**
 * Enrols one agent in the transaction that issues the site statement.
 * @throws FleetError REVOKED, REQUEST_INVALID, ALREADY_ENROLLED, CHANNEL_MISSING, ENROLMENT_WAITS
 */
export const enrollAgent = async (
  tx: Tx,
  request: EnrolmentRequest,
  options: EnrolmentOptions,
  now: Date,
): Promise<Enrolment> => {
  const known = await tx.selectFrom('agent').selectAll().where('id', '=', request.id).executeTakeFirst();
  const planned = await plan(tx, { request, known }, options, now);
  const composed =
    planned.kind === 'unchanged' ? undefined : await options.composeAgent?.(tx, planned.row, known);
  await execute(tx, request, planned, now);
  if (planned.kind !== 'unchanged')
    await noteChange(
      tx,
      {
        change: 'sites enroll',
        about: request.id,
        old: known ? describeAgent(known) : null,
        new: describeAgent(planned.row),
      },
      { ...BY_RULE, ...options.by },
      now,
    );
  return { request, step: planned, composed };
};

const plan = async (
  tx: Tx,
  { request, known }: { readonly request: EnrolmentRequest; readonly known: AgentRow | undefined },
  options: EnrolmentOptions,
  now: Date,
): Promise<EnrolmentStep> => {
  const owner = await tx
    .selectFrom('agent_key')
    .selectAll()
    .where('hint', '=', request.key.hint)
    .executeTakeFirst();
  return planEnrolment(request, known, owner, options, now);
};

const execute = async (tx: Tx, request: EnrolmentRequest, step: EnrolmentStep, now: Date): Promise<void> => {
  const { id, key } = request;
  switch (step.kind) {
    case 'unchanged':
      return;
    case 'register':
      await tx.insertInto('agent').values(step.row).execute();
      await addKey(tx, id, key, now);
      return;
    case 'change':
      await tx.updateTable('agent').set(step.row).where('id', '=', id).execute();
      return;
    case 'replace-key':
      await tx.updateTable('agent').set(step.row).where('id', '=', id).execute();
      await tx
        .updateTable('agent_key')
        .set({ ended_at: formatTime(now) })
        .where('agent', '=', id)
        .where('ended_at', 'is', null)
        .execute();
      await addKey(tx, id, key, now);
      // The state of the new machine is not known yet; that of the old one stays in its events.
      await tx.deleteFrom('assignment_state').where('agent', '=', id).execute();
      await tx.deleteFrom('agent_state').where('agent', '=', id).execute();
      return;
  }
};

const addKey = async (tx: Tx, agent: string, key: EnrolmentRequest['key'], now: Date): Promise<void> => {
  await tx
    .insertInto('agent_key')
    .values({ hint: key.hint, agent, key: key.pem, since: formatTime(now), ended_at: null })
    .execute();
};
