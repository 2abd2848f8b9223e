import { formatChannel } from '#bundles/names';
import { type LayeredAgent, labelsForLayers, matchesSite } from '../../../plan/compose/compose-site.ts';
import { sightOf } from '../../people/sight.ts';
import { channelOf, type Labels, labelsOf } from '../../sites/agent-record.ts';
import type { ChannelLayers } from '../../../plan/validate/sites/channel-layers.ts';
import {
  type Allowance,
  isAllowed,
  type ValuesAllowance,
  valuesAllowances,
  type Verb,
} from '../../sites/tokens/allowance.ts';
import type { AgentRow } from '../../store/tables.ts';

/** An agent as allowances for values see it: with the labels that layers see. */
export type ValuesAgent = LayeredAgent & { readonly environment: string };

/** @param layers by formatChannel; a channel without any has no declared labels */
export const toValuesAgent = (row: AgentRow, layers: ReadonlyMap<string, ChannelLayers>): ValuesAgent => {
  const declared = layers.get(formatChannel(channelOf(row)))?.released?.sites.get(row.site);
  return {
    site: row.site,
    agent: row.name,
    environment: row.environment,
    labels: labelsForLayers(declared, labelsOf(row)),
  };
};

/**
 * Whether a caller may change a value that reaches these agents: each of them has the labels of an allowance that is for all values, or for
 * this `editableBy`. A value of a site reaches all its agents, so a right for one line is not enough.
 * @param agents empty for a site without enrolled agents: then only its name counts
 */
export const mayChange = (
  allowances: readonly Allowance[],
  { site, agents }: { readonly site: string; readonly agents: readonly LayeredAgent[] },
  roles: readonly (string | undefined)[],
): boolean => {
  const reached = agents.length > 0 ? agents : [{ site, agent: '', labels: {} }];
  return roles.every((role) => {
    const granted = grantedFor(allowances, role);
    return reached.every((agent) => granted.some(({ sites }) => matchesSite(sites, agent)));
  });
};

/**
 * Whether a caller may change a value of all agents that a selector of labels selects, now or later: an allowance names no label that the
 * selector lacks.
 */
export const mayChangeSelected = (
  allowances: readonly Allowance[],
  select: Labels,
  roles: readonly (string | undefined)[],
): boolean =>
  roles.every((role) =>
    grantedFor(allowances, role).some(({ sites }) =>
      Object.entries(sites).every(([key, value]) => Object.hasOwn(select, key) && select[key] === value),
    ),
  );

const grantedFor = (allowances: readonly Allowance[], role: string | undefined): readonly ValuesAllowance[] =>
  valuesAllowances(allowances).filter(({ editableBy }) => editableBy === undefined || editableBy === role);

/** Whether a caller may see the values of an agent: it may change some of them, or read about everything in its environment. */
export const seesValues = (allowances: readonly Allowance[], agent: ValuesAgent): boolean => {
  const sight = sightOf(allowances);
  if (sight === undefined || (sight !== 'nothing' && sight.whole.has(agent.environment))) return true;
  return valuesAllowances(allowances).some(({ sites }) => matchesSite(sites, agent));
};

/** Whether a caller may use this verb in every environment of these agents. */
export const mayEverywhere = (
  allowances: readonly Allowance[],
  verb: Verb,
  agents: readonly ValuesAgent[],
): boolean =>
  agents.length === 0
    ? isAllowed(allowances, verb, '*')
    : agents.every(({ environment }) => isAllowed(allowances, verb, environment));
