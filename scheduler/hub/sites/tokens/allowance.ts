import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { parseName } from '#bundles/names';
import type { Labels } from '../agent-record.ts';

/**
 * Verbs that a caller may use, each in named environments. `read` is for questions about sites. Every other verb but `record`, `wait`
 * alone, too, lets its holder read what concerns decisions in the environment. `rollout` is for the decisions about rollouts inside an
 * environment, `record` for saying that a medium with its releases leaves the office, `author` for edits of the platform in its repository,
 * `alarms` for acknowledging and silencing alarms.
 */
export const VERBS = [
  'read',
  'submit',
  'promote',
  'approve',
  'reject',
  'pause',
  'resume',
  'rollback',
  'rollout',
  'record',
  'wait',
  'author',
  'alarms',
] as const;
export type Verb = (typeof VERBS)[number];

/** `environment` is a name, or `*` for all. With a workspace it is about the assignments of this workspace alone. */
export type EnvironmentAllowance = {
  readonly verb: Verb;
  readonly environment: string;
  readonly workspace?: string | undefined;
};

/** Lets its holder see and change values of sites, of no environment as such. */
export type ValuesAllowance = {
  readonly verb: 'values';
  /** Labels that agents have, `site` and `agent` by name, as a siteSelector; empty: all. */
  readonly sites: Labels;
  /** Only values whose site input has this `editableBy`; undefined: all values, also those without. */
  readonly editableBy?: string | undefined;
};

export type Allowance = EnvironmentAllowance | ValuesAllowance;

/**
 * Verbs that an allowance may limit to a workspace: `rollback` is then about single assignments, `approve` and `reject` about candidates by
 * what they change, `alarms` about alarms of its assignments.
 */
export const WORKSPACE_VERBS: readonly Verb[] = ['read', 'approve', 'reject', 'rollback', 'alarms'];

/** @param text 'promote:qa', 'wait:*', 'read:prod/production', 'values:site=plant-7:network' @throws FleetError USAGE, NAME_INVALID */
export const parseAllowance = (text: string): Allowance => {
  const [verb = '', place = '', ...more] = text.split(':');
  if (verb === 'values') return parseValuesAllowance(text);
  const known = VERBS.find((one) => one === verb);
  const [environment = '', workspace, ...rest] = place.split('/');
  if (known && environment !== '' && more.length === 0 && rest.length === 0) {
    if (workspace !== undefined && !WORKSPACE_VERBS.includes(known))
      throw new FleetError('USAGE', `${known} is about a whole environment, not about a workspace`, {
        hint: `Write ${known}:${environment}; only ${WORKSPACE_VERBS.join(', ')} take a workspace`,
      });
    return defined({
      verb: known,
      environment: environment === '*' ? environment : parseName(environment, 'environment'),
      workspace: workspace !== undefined ? parseName(workspace, 'workspace') : undefined,
    });
  }
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not <verb>:<environment>`, {
    hint: known
      ? `Write ${known}:<environment>, or ${known}:* for all`
      : `${didYouMean(verb, [...VERBS, 'values']) ?? ''}Verbs are ${[...VERBS, 'values'].join(', ')}`,
  });
};

const parseValuesAllowance = (text: string): ValuesAllowance => {
  const [, sites = '', editableBy] = /^values:([^:]+)(?::([^:]+))?$/.exec(text) ?? [];
  const pairs = sites === '*' ? [] : sites.split(',').map((pair) => /^([^=]+)=([^=]*)$/.exec(pair));
  if (sites !== '' && pairs.every((pair) => pair !== null))
    return defined({
      verb: 'values' as const,
      sites: Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? ''])),
      editableBy,
    });
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not values:<label>=<value>`, {
    hint: 'Write values:site=plant-7, values:region=north:network for values with editableBy network, or values:* for all sites',
  });
};

export const formatAllowance = (allowance: Allowance): string => {
  if (allowance.verb === 'values') {
    const { sites, editableBy } = allowance;
    const pairs = Object.entries(sites).map((pair) => pair.join('='));
    return `values:${pairs.length === 0 ? '*' : pairs.join(',')}${editableBy === undefined ? '' : `:${editableBy}`}`;
  }
  const { verb, environment, workspace } = allowance;
  return workspace === undefined ? `${verb}:${environment}` : `${verb}:${environment}/${workspace}`;
};

/** Those about environments. */
export const environmentAllowances = (allowances: readonly Allowance[]): readonly EnvironmentAllowance[] =>
  allowances.filter((one) => one.verb !== 'values');

/** Those about values of sites. */
export const valuesAllowances = (allowances: readonly Allowance[]): readonly ValuesAllowance[] =>
  allowances.filter((one) => one.verb === 'values');

/**
 * Whether a decision about the whole environment is allowed. An allowance for a workspace allows none.
 * @param verb undefined: reading about decisions, which any verb in the environment but `record` allows
 */
export const isAllowed = (
  allowances: readonly Allowance[],
  verb: Verb | undefined,
  environment: string,
): boolean =>
  environmentAllowances(allowances).some(
    (one) =>
      one.workspace === undefined &&
      (verb === undefined ? one.verb !== 'record' : one.verb === verb) &&
      (one.environment === '*' || one.environment === environment),
  );

/** Workspaces whose assignments an allowance of this verb is about. */
export const workspacesOf = (
  allowances: readonly Allowance[],
  verb: Verb,
  environment: string,
): readonly string[] =>
  environmentAllowances(allowances).flatMap((one) =>
    one.workspace !== undefined &&
    one.verb === verb &&
    (one.environment === '*' || one.environment === environment)
      ? [one.workspace]
      : [],
  );
