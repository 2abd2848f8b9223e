import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { parseName } from '#bundles/names';

/**
 * What a token for decisions may do, each in named environments. Every verb, `wait` alone, too, lets its holder read what concerns
 * the environment. `rollout` is for the decisions about rollouts inside an environment.
 */
export const VERBS = [
  'promote',
  'approve',
  'reject',
  'pause',
  'resume',
  'rollback',
  'rollout',
  'wait',
] as const;
export type Verb = (typeof VERBS)[number];

/** `environment` is a name, or `*` for all. */
export type Allowance = { readonly verb: Verb; readonly environment: string };

/** @param text 'promote:qa', 'wait:*' @throws FleetError USAGE, NAME_INVALID */
export const parseAllowance = (text: string): Allowance => {
  const [verb = '', environment = '', ...more] = text.split(':');
  const known = VERBS.find((one) => one === verb);
  if (known && environment !== '' && more.length === 0)
    return {
      verb: known,
      environment: environment === '*' ? environment : parseName(environment, 'environment'),
    };
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not <verb>:<environment>`, {
    hint: known
      ? `Write ${known}:<environment>, or ${known}:* for all`
      : `${didYouMean(verb, VERBS) ?? ''}Verbs are ${VERBS.join(', ')}`,
  });
};

export const formatAllowance = ({ verb, environment }: Allowance): string => `${verb}:${environment}`;

/** @param verb undefined: reading, which any verb in the environment allows */
export const isAllowed = (
  allowances: readonly Allowance[],
  verb: Verb | undefined,
  environment: string,
): boolean =>
  allowances.some(
    (one) =>
      (verb === undefined || one.verb === verb) &&
      (one.environment === '*' || one.environment === environment),
  );
