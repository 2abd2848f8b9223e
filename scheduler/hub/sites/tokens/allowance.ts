import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { parseName } from '#bundles/names';

/**
 * Verbs that a caller may use, each in named environments. `read` is for questions about sites. Every other verb but `record`, `wait`
 * alone, too, lets its holder read what concerns decisions in the environment. `rollout` is for the decisions about rollouts inside an
 * environment, `record` for saying that a medium with its releases leaves the office.
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
] as const;
export type Verb = (typeof VERBS)[number];

/** `environment` is a name, or `*` for all. With a workspace it is about the assignments of this workspace alone. */
export type Allowance = {
  readonly verb: Verb;
  readonly environment: string;
  readonly workspace?: string | undefined;
};

/**
 * Verbs that an allowance may limit to a workspace: `rollback` is then about single assignments, `approve` and `reject` about candidates by
 * what they change.
 */
export const WORKSPACE_VERBS: readonly Verb[] = ['read', 'approve', 'reject', 'rollback'];

/** @param text 'promote:qa', 'wait:*', 'read:prod/production' @throws FleetError USAGE, NAME_INVALID */
export const parseAllowance = (text: string): Allowance => {
  const [verb = '', place = '', ...more] = text.split(':');
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
      : `${didYouMean(verb, VERBS) ?? ''}Verbs are ${VERBS.join(', ')}`,
  });
};

export const formatAllowance = ({ verb, environment, workspace }: Allowance): string =>
  workspace === undefined ? `${verb}:${environment}` : `${verb}:${environment}/${workspace}`;

/**
 * Whether a decision about the whole environment is allowed. An allowance for a workspace allows none.
 * @param verb undefined: reading about decisions, which any verb in the environment but `record` allows
 */
export const isAllowed = (
  allowances: readonly Allowance[],
  verb: Verb | undefined,
  environment: string,
): boolean =>
  allowances.some(
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
  allowances.flatMap((one) =>
    one.workspace !== undefined &&
    one.verb === verb &&
    (one.environment === '*' || one.environment === environment)
      ? [one.workspace]
      : [],
  );
