import { FleetError } from '#bundles/errors';
import { decidedValues, givenValues } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { didYouMean } from '#bundles/nearest-name';
import { type NotedChange, noteChange } from '../changes/note-change.ts';
import type { Store } from '../store/open-store.ts';
import type { SiteRow, Tx } from '../store/tables.ts';
import { enrolledAgents } from './enrolled-agents.ts';
import { issueSite, type SiteSigner, siteValuesOf } from './issue-site.ts';
import { refuseWaiting } from './refuse-waiting.ts';
import { type ChangedTerms, type MovedAgent, setTerms, type Terms } from './set-terms.ts';

export { parseValue } from '#bundles/formats/author-schema/parse-value';

/** The office's answer to an edit of a person at a site, for its agent. */
export type LocalAnswer = NonNullable<SiteValues['local']>[string][string] & {
  readonly agent: string;
  readonly name: string;
};

export type ValueChange = {
  readonly site: string;
  /** Change this agent's own values; undefined: the site's. */
  readonly agent?: string | undefined;
  readonly set: Readonly<Record<string, Json>>;
  readonly unset: readonly string[];
  /** Answers to values that people at the site set. */
  readonly answers?: readonly LocalAnswer[];
  /** New terms for the agent, or for each agent of the site. */
  readonly terms?: Terms;
};

/** The values of a site with those that layers give agents which follow another channel from now on. @throws FleetError ENROLMENT_WAITS */
export type ComposeMoved = (tx: Tx, values: SiteValues, moved: readonly MovedAgent[]) => Promise<SiteValues>;

export type ChangedSite = { readonly site: SiteRow; readonly changed: boolean };

export type ChangedValues = ChangedSite & {
  /** One sentence for each name in `unset` that has no value. */
  readonly absent: readonly string[];
};

/**
 * Sets and removes values of a site or of one agent, and issues the next site statement if anything changed.
 * @param signer with `composeMoved` the values of an agent that moves to another channel are those of its layers
 * @throws FleetError SITE_MISSING, AGENT_UNKNOWN; VALUES_CHANGED for a value that waits for the stage of a rollout; ENROLMENT_WAITS for a move without values
 */
export const setValues = (
  store: Store,
  change: ValueChange,
  signer: SiteSigner & { readonly composeMoved?: ComposeMoved },
  now: Date,
): Promise<ChangedValues> =>
  store.transact(async (tx) => {
    const { site, agent } = change;
    const row = await findSite(tx, site, agent);
    await refuseWaiting(tx, [change]);
    const before = siteValuesOf(row, signer.root.fleet, site);
    const terms = change.terms ? await setTerms(tx, { site, agent }, change.terms) : NO_TERMS;
    const changed = changeValues(before, change);
    const moves = terms.flatMap(({ moved: one }) => one ?? []);
    const after =
      moves.length === 0 ? changed : ((await signer.composeMoved?.(tx, changed, moves)) ?? changed);
    const moved = terms.length > 0;
    const absent = describeAbsentValue(before, change);
    if (!moved && isSameJson(after, before)) return { site: row, changed: false, absent };
    const decided: NotedChange[] = [];
    const agents = await enrolledAgents(tx, site);
    const hidden = await signer.readHidden(agents);
    for (const noted of [...decidedValues(before, after, hidden(agents)), ...terms.map((one) => one.noted)])
      decided.push(await noteChange(tx, { change: 'sites set', ...noted }, store.by, now));
    const issued = await issueSite(tx, site, { ...signer, decided }, now, after);
    return { site: issued, changed: true, absent };
  });

/** The record of a site, and of an agent that it has enrolled. @throws FleetError SITE_MISSING, AGENT_UNKNOWN */
export const findSite = async (
  db: Tx | Store['db'],
  site: string,
  agent: string | undefined,
): Promise<SiteRow> => {
  const row = await db.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  if (!row) throw siteMissing(site);
  if (agent === undefined) return row;
  const known = await db
    .selectFrom('agent')
    .select('id')
    .where('site', '=', site)
    .where('name', '=', agent)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (known) return row;
  throw agentUnknown(site, agent);
};

export const agentUnknown = (site: string, agent: string): FleetError =>
  new FleetError('AGENT_UNKNOWN', `site ${site} has no agent ${agent}`, {
    hint: 'See its agents with: fleet-scheduler sites list',
  });

const NO_TERMS: readonly ChangedTerms[] = [];

export const changeValues = (before: SiteValues, change: ValueChange): SiteValues =>
  (change.answers ?? []).reduce(withAnswer, changeGiven(before, change));

const withAnswer = (before: SiteValues, { agent, name, ...answer }: LocalAnswer): SiteValues => ({
  ...before,
  local: { ...before.local, [agent]: { ...before.local?.[agent], [name]: answer } },
});

const changeGiven = (before: SiteValues, { agent, set, unset }: ValueChange): SiteValues => {
  if (Object.keys(set).length + unset.length === 0) return before;
  const apply = (values: SiteValues['values']): SiteValues['values'] =>
    Object.fromEntries(Object.entries({ ...values, ...set }).filter(([name]) => !unset.includes(name)));
  if (agent === undefined) return { ...before, values: apply(before.values) };
  return { ...before, agents: { ...before.agents, [agent]: apply(before.agents[agent] ?? {}) } };
};

/** Removing an absent value is reported and is not an error, so that a repeated command succeeds. */
const describeAbsentValue = (before: SiteValues, { site, agent, unset }: ValueChange): readonly string[] => {
  const values = givenValues(before, agent);
  const whose = agent === undefined ? `site ${site}` : `agent ${agent} of site ${site}`;
  return unset
    .filter((name) => !Object.hasOwn(values, name))
    .map((name) =>
      `${whose} has no value ${name} to remove. ${didYouMean(name, Object.keys(values)) ?? ''}`.trim(),
    );
};

export const siteMissing = (site: string): FleetError =>
  new FleetError('SITE_MISSING', `no site ${site} is known here`, {
    hint: 'Sites begin with the first agent: fleet-scheduler sites enroll <medium>',
  });
