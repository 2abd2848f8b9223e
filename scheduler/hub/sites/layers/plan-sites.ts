import { compareBytes } from '#bundles/digest';
import { FleetError, formatPlace, type Place } from '#bundles/errors';
import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { ComposedValues, SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { ownValue } from '#bundles/own-value';
import { formatChannel } from '#bundles/names';
import { layeredAgent } from '../../../plan/compose/layered-agent.ts';
import { type AgentComposition, tieError } from '../../../plan/compose/compose-site.ts';
import { unreadLayers } from '../../../plan/compose/unread-layers.ts';
import type { AgentRow } from '../../store/tables.ts';
import { channelOf, labelsOf } from '../agent-record.ts';
import { keepNames } from '#bundles/formats/site-values/keep-names';
import type { Kept } from './kept.ts';
import type { ChannelLayers } from '../../../plan/validate/sites/channel-layers.ts';

/** A site as the database has it. */
export type SiteFacts = {
  readonly site: string;
  readonly values: SiteValues;
  /** Enrolled agents that are not revoked. */
  readonly agents: readonly AgentRow[];
  /** Where the repository declared it before; null: it did not. */
  readonly declared: string | null;
};

/** The result for one site. */
export type PlannedComposition = {
  readonly site: string;
  /** Where the repository declares it. */
  readonly declared: string | null;
  /** Values of its next statement by agent, if they differ and nothing holds the site. */
  readonly composed: SiteValues['composed'];
  readonly differs: boolean;
  /** Why it keeps the values that it has; empty: it does not. */
  readonly held: readonly FleetError[];
};

/**
 * Decides the composed values of each site. Pure but for the schemas that it compiles: the same facts give the same plan, in the order of
 * the sites' names. One site that something holds blocks no other.
 * @param layers by formatChannel (readChannelLayers) @param kept by agent id (takeTurns)
 */
export const planSites = async (
  sites: readonly SiteFacts[],
  layers: ReadonlyMap<string, ChannelLayers>,
  kept: ReadonlyMap<string, Kept> = new Map(),
): Promise<readonly PlannedComposition[]> => {
  const judge = createJudge();
  const planned: PlannedComposition[] = [];
  for (const site of sites.toSorted((a, b) => compareBytes(a.site, b.site)))
    planned.push(await planSite(site, { layers, kept, judge }));
  return planned;
};

type Planning = {
  readonly layers: ReadonlyMap<string, ChannelLayers>;
  readonly kept: ReadonlyMap<string, Kept>;
  readonly judge: Judge;
};

const planSite = async (
  { site, values, agents, declared: before }: SiteFacts,
  { layers, kept, judge }: Planning,
): Promise<PlannedComposition> => {
  const composed: Record<string, ComposedValues> = {};
  const held: FleetError[] = [];
  const compositions: [AgentRow, ChannelLayers, AgentComposition][] = [];
  const here = agents.toSorted((a, b) => compareBytes(a.name, b.name));
  const declared = placeIn(site, here, layers);
  // Of a channel that cannot be read nobody knows what it declares.
  const isRead = here.every((row) => layers.has(formatChannel(channelOf(row))));
  if (before !== null && declared === null && here.length > 0 && isRead)
    held.push(noLongerDeclared(site, before, here));
  for (const row of here) {
    const known = values.composed?.[row.name];
    const channel = layers.get(formatChannel(channelOf(row)));
    if (!channel) {
      if (known) composed[row.name] = known;
      continue;
    }
    const agent = layeredAgent({ ...row, labels: labelsOf(row) }, channel.released);
    held.push(...unreadLayers(agent, channel.released));
    const composition = channel.compose(agent);
    const who = `${site}/${row.name}`;
    const parts = [composition.whole, ...composition.assignments.values()];
    held.push(...firstOfEach(parts.flatMap(({ ties }) => ties.map((tie) => tieError(tie, who)))));
    const document = keepTurn(composition.document, known, kept.get(row.id));
    if (document) composed[row.name] = document;
    compositions.push([row, channel, composition]);
  }
  const after: SiteValues = withComposed(values, composed);
  for (const [row, channel, composition] of compositions)
    held.push(...(await judge({ before: values, after, row, channel, composition })));
  const differs = !isSameJson(after, values);
  return {
    site,
    declared: declared ?? before,
    composed: after.composed,
    differs: differs && held.length === 0,
    held,
  };
};

/** Values of an agent whose stage has not begun; everything else is composed by its layers. */
const keepTurn = (
  document: ComposedValues | undefined,
  known: ComposedValues | undefined,
  kept: Kept | undefined,
): ComposedValues | undefined => {
  if (!kept) return document;
  return kept === 'all' ? known : keepNames(document, kept.before, kept.names);
};

/** The document with composed values; without any it has no such field, as before there were layers. */
export const withComposed = (
  { composed: _, ...values }: SiteValues,
  composed: SiteValues['composed'] = {},
): SiteValues => (Object.keys(composed).length === 0 ? values : { ...values, composed });

const placeIn = (
  site: string,
  agents: readonly AgentRow[],
  layers: ReadonlyMap<string, ChannelLayers>,
): string | null => {
  for (const row of agents) {
    const found = layers.get(formatChannel(channelOf(row)))?.released?.sites.get(site);
    if (found) return formatPlace(found.at);
  }
  return null;
};

const firstOfEach = (errors: readonly FleetError[]): readonly FleetError[] => [
  ...new Map(errors.map((error) => [error.message, error])).values(),
];

const noLongerDeclared = (site: string, before: string, agents: readonly AgentRow[]): FleetError =>
  new FleetError(
    'SITE_DIFFERS',
    `site ${site} is no longer declared in the repository (it was at ${before}), and ${agents.map(({ name }) => name).join(', ')} of it ${agents.length === 1 ? 'is' : 'are'} still enrolled`,
    {
      hint: `Declare it again, revoke its agents, or compose it without its Site: fleet-scheduler sites compose --undeclared ${site}`,
    },
  );

type Judged = {
  readonly before: SiteValues;
  readonly after: SiteValues;
  readonly row: AgentRow;
  readonly channel: ChannelLayers;
  readonly composition: AgentComposition;
};

type Judge = (judged: Judged) => Promise<readonly FleetError[]>;

type Verdict = readonly { readonly input: string; readonly why: string; readonly isMissing: boolean }[];

/**
 * Judges only values that differ from those that the agent has: what it lacks already holds back its package there, and nothing else. Assignments
 * without values of their own share one comparison.
 */
const createJudge = (): Judge => {
  const known = new WeakMap<object, Map<string, Verdict>>();
  return async ({ before, after, row, channel: { configs, channel }, composition }) => {
    const own = ownAssignments([before, after], row.name);
    const compare = (id?: string): Compared => {
      const [old, now] = [valuesOfAgent(before, row.name, id), valuesOfAgent(after, row.name, id)];
      const every = [...new Set([...Object.keys(old), ...Object.keys(now)])];
      return { now, differing: every.filter((name) => !isSameValue(old, now, name)) };
    };
    const shared = compare();
    if (shared.differing.length === 0 && own.size === 0) return [];
    const errors: FleetError[] = [];
    for (const config of configs) {
      const verdicts = known.get(config) ?? new Map<string, Verdict>();
      known.set(config, verdicts);
      const sharedNames = namesByAssignment(config, shared.differing);
      for (const { id } of config.assignments) {
        const { now, differing } = own.has(id) ? compare(id) : shared;
        const names = (own.has(id) ? namesByAssignment(config, differing) : sharedNames).get(id);
        if (!names) continue;
        const values = Object.fromEntries(Object.entries(now).filter(([name]) => names.has(name)));
        const key = `${[...names].join(',')}\n${canonicalJson(values, 'doubles')}`;
        const verdict = verdicts.get(key) ?? (await judgeNames(config.siteInputs.schema, values, names));
        verdicts.set(key, verdict);
        for (const { input, why, isMissing } of verdict)
          errors.push(
            faultError(
              { who: `${row.site}/${row.name}`, id, input, why, isMissing },
              formatChannel(channel),
              placeOf(composition, id, input),
            ),
          );
      }
    }
    return errors;
  };
};

type Compared = {
  readonly now: SiteValues['values'];
  /** Names of the values that are not as they were. */
  readonly differing: readonly string[];
};

/** Assignments to which one of these documents gives composed values that others do not get. */
const ownAssignments = (documents: readonly SiteValues[], agent: string): ReadonlySet<string> =>
  new Set(
    documents.flatMap(({ composed }) => {
      const part = ownValue(composed ?? {}, agent);
      return [...Object.keys(part?.assignments ?? {}), ...Object.keys(part?.fixed?.assignments ?? {})];
    }),
  );

/** Those of the names that an assignment takes, for each that takes some. */
const namesByAssignment = (
  config: BundleConfig,
  names: readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>();
  const wanted = new Set(names);
  if (wanted.size === 0) return found;
  for (const { assignment, input } of siteFields(config, names))
    if (wanted.has(input)) found.set(assignment, (found.get(assignment) ?? new Set()).add(input));
  return found;
};

const isSameValue = (a: SiteValues['values'], b: SiteValues['values'], name: string): boolean =>
  isSameJson(ownValue(a, name), ownValue(b, name));

const judgeNames = async (
  schema: Parameters<typeof judgeSiteValues>[0],
  values: SiteValues['values'],
  names: ReadonlySet<string>,
): Promise<Verdict> => {
  const { faults } = await judgeSiteValues(schema, values, names);
  return [...faults].map(([input, { kind, why }]) => ({ input, why, isMissing: kind === 'missing' }));
};

const placeOf = ({ whole, assignments }: AgentComposition, id: string, input: string): Place | undefined =>
  (assignments.get(id) ?? whole).origins.find(({ path: [name] }) => name === input)?.at;

type Fault = { readonly who: string; readonly id: string } & Verdict[number];

const faultError = (
  { who, id, input, why, isMissing }: Fault,
  channel: string,
  at: Place | undefined,
): FleetError =>
  isMissing
    ? new FleetError(
        'SITE_VALUES',
        `no layer gives ${who} the value ${input} any more, which ${id} of ${channel} needs`,
        {
          hint: `Give it in a Config again, or with: fleet-scheduler sites set ${who.split('/')[0]} ${input}=...`,
        },
      )
    : new FleetError('SITE_VALUES', `the value ${input} does not fit ${id} of ${channel} at ${who}: ${why}`, {
        at,
        hint: 'Correct the Config',
      });
