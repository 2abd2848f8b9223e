import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { ownValue } from '#bundles/own-value';
import { FleetError } from '#bundles/errors';
import type { ChangedValue } from '#bundles/formats/author-schema/changed-values';
import { formatChannel } from '#bundles/names';
import type { Hub } from '../../hub/hub.ts';
import { channelOf } from '../../hub/sites/agent-record.ts';
import { agentsWithValues } from '../../hub/sites/agents-with-values.ts';
import { siteValuesOf } from '../../hub/sites/issue-site.ts';
import { readChannelLayers } from '../../hub/sites/read-channel-layers.ts';
import { findSite } from '../../hub/sites/set-values.ts';
import { type AgentState, type PackageOutcomes, touchedAssignments } from './touched-agents.ts';

/** An assignment of two agents that differs: `old` of a value is the left one. */
export type ComparedAtSites = {
  /** '<site>/<agent>'; undefined: that site has no such agent. */
  readonly left?: string;
  readonly right?: string;
  readonly assignment: string;
  readonly outcome: 'only left' | 'only right' | 'package' | 'values' | 'package and values';
  readonly values: readonly ChangedValue[];
};

/**
 * Compares the values that assignments take at two sites, and their packages, by the newest releases. Agents are compared by name, or where each
 * site has one alone, these two. @throws FleetError SITE_MISSING; the first fault of a channel that cannot be read
 */
export const compareSites = async (
  hub: Hub,
  left: string,
  right: string,
): Promise<readonly ComparedAtSites[]> => {
  if (left === right)
    throw new FleetError('USAGE', 'a site does not differ from itself', { hint: 'Name two sites' });
  const [one, other] = [await readSite(hub, left), await readSite(hub, right)];
  const isPair = one.size === 1 && other.size === 1;
  const names = isPair
    ? [[...one.keys(), ...other.keys()]]
    : [...new Set([...one.keys(), ...other.keys()])].toSorted(compareBytes).map((name) => [name, name]);
  return names.flatMap(([a = '', b = '']) => compareAgents(named(left, a, one), named(right, b, other)));
};

type NamedState = { readonly id: string; readonly agent: string; readonly state: AgentState | undefined };

const named = (site: string, agent: string, states: ReadonlyMap<string, AgentState>): NamedState => ({
  id: `${site}/${agent}`,
  agent,
  state: states.get(agent),
});

const compareAgents = (left: NamedState, right: NamedState): readonly ComparedAtSites[] => {
  const [before, after] = [stateAs(left, left.agent), stateAs(right, left.agent)];
  return touchedAssignments(left.agent, { before, after, packages: outcomesOf(before, after) }).map(
    ({ assignment, why, values }) =>
      defined({
        left: left.state ? left.id : undefined,
        right: right.state ? right.id : undefined,
        assignment,
        outcome: outcomeOf(why),
        values,
      }),
  );
};

const outcomeOf = (why: readonly string[]): ComparedAtSites['outcome'] => {
  if (why.includes('added')) return 'only right';
  if (why.includes('removed')) return 'only left';
  if (why.length > 1) return 'package and values';
  return why.includes('package') ? 'package' : 'values';
};

/** The state with the values of its agent under another name, by which both are compared. */
const stateAs = ({ agent, state }: NamedState, name: string): AgentState => {
  if (!state) return { configs: [], document: { fleet: '', site: '', values: {}, agents: {} } };
  const { configs, document } = state;
  const { agents, composed } = document;
  const only = <T>(of: Readonly<Record<string, T>> | undefined): Readonly<Record<string, T>> => {
    const own = ownValue(of ?? {}, agent);
    return own === undefined ? {} : { [name]: own };
  };
  return { configs, document: { ...document, agents: only(agents), composed: only(composed) } };
};

const outcomesOf = (before: AgentState, after: AgentState): PackageOutcomes => {
  const digests = ({ configs }: AgentState) =>
    new Map(configs.flatMap(({ assignments }) => assignments.map((one) => [one.id, one.package] as const)));
  const [old, now] = [digests(before), digests(after)];
  return new Map(
    [...old].flatMap(([id, digest]) =>
      now.has(id) && now.get(id) !== digest ? [[id, 'configured'] as const] : [],
    ),
  );
};

const readSite = async (hub: Hub, site: string): Promise<ReadonlyMap<string, AgentState>> => {
  const { db } = hub.store;
  const document = siteValuesOf(await findSite(db, site, undefined), hub.keys.root.fleet, site);
  const rows = (await agentsWithValues(db, site)).toSorted((a, b) => compareBytes(a.name, b.name));
  const { layers, faults } = await readChannelLayers(hub, rows.map(channelOf));
  const [fault] = faults;
  if (fault) throw fault;
  return new Map(
    rows.map((row) => [
      row.name,
      { configs: layers.get(formatChannel(channelOf(row)))?.configs ?? [], document },
    ]),
  );
};

/** Lines for people. */
export const formatComparedSites = (
  compared: readonly ComparedAtSites[],
  left: string,
  right: string,
): readonly string[] => [
  ...compared.flatMap(({ left: one, right: other, assignment, outcome, values }) => [
    `${[one, other].filter(Boolean).join(' and ')}  ${assignment}: ${outcome === 'only left' || outcome === 'only right' ? outcome : `other ${outcome}`}`,
    ...values.map(
      ({ name, old = 'nothing', new: now = 'nothing' }) => `    ${name}  ${left}: ${old}  ${right}: ${now}`,
    ),
  ]),
  compared.length === 0
    ? `${left} and ${right} have the same packages and values.`
    : `${compared.length} assignments differ at ${left} and ${right}.`,
];
