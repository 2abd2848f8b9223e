import { FleetError } from '#bundles/errors';
import type { DeploymentTarget, Platform, SchedulingPolicy } from '../model.ts';
import { nearestName } from '#bundles/nearest-name';
import { matchLabels } from './match-labels.ts';
import { selectsTarget } from './select-pairs.ts';

/** A label that a policy requires, with the values that satisfy it. */
export type Term = { readonly key: string; readonly values: readonly string[] };

/**
 * Deployment targets that no policy selects because one label is probably misspelled, each with an error that names it. Only
 * in our form: Kalypso ignores such a target.
 */
export const findMisspelled = ({
  form,
  targets,
  policies,
}: Pick<Platform, 'form' | 'targets' | 'policies'>): ReadonlyMap<DeploymentTarget, FleetError> => {
  const found = new Map<DeploymentTarget, FleetError>();
  if (form !== 'fleet') return found;
  const terms = policies.map((policy) => ({ policy, terms: targetTerms(policy) }));
  const known = knownValues(terms.flatMap((one) => one.terms));
  for (const target of targets) {
    if (policies.some((policy) => selectsTarget(policy, target))) continue;
    const error = terms
      .filter(({ policy }) => meetsTheRest(policy, target))
      .map(({ policy, terms: asked }) => judge(target, policy, asked, known))
      .find((one) => one !== undefined);
    if (error) found.set(target, error);
  }
  return found;
};

/** Every required value, by key. */
const knownValues = (terms: readonly Term[]): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(
    [...Map.groupBy(terms, ({ key }) => key)].map(([key, same]) => [
      key,
      new Set(same.flatMap(({ values }) => values)),
    ]),
  );

/** The values that a policy requires of a target's labels; its workspace counts as a label. */
export const targetTerms = ({ workspace, targets }: SchedulingPolicy): readonly Term[] => [
  ...(workspace === '' ? [] : [{ key: 'workspace', values: [workspace] }]),
  ...equalityTerms(targets),
];

/** The terms of a selector that require certain values. */
export const equalityTerms = ({
  matchLabels: labels,
  matchExpressions,
}: SchedulingPolicy['targets']): readonly Term[] => [
  ...Object.entries(labels).map(([key, value]) => ({ key, values: [value] })),
  ...matchExpressions.filter(({ operator }) => operator === 'In'),
];

/** Whether the target satisfies every expression that does not require certain values. */
const meetsTheRest = ({ targets }: SchedulingPolicy, { labels }: DeploymentTarget): boolean =>
  matchLabels(
    {
      matchLabels: {},
      matchExpressions: targets.matchExpressions.filter(({ operator }) => operator !== 'In'),
    },
    labels,
  );

/** Only one unmet label is taken for a misspelling; two are a real difference. */
const judge = (
  target: DeploymentTarget,
  policy: SchedulingPolicy,
  asked: readonly Term[],
  known: ReadonlyMap<string, ReadonlySet<string>>,
): FleetError | undefined => {
  const [unmet, ...more] = asked.filter(({ key, values }) => !values.includes(target.labels[key] ?? ''));
  if (!unmet || more.length > 0) return undefined;
  const { key, values } = unmet;
  const value = target.labels[key];
  if (value !== undefined) {
    const meant = known.get(key)?.has(value) ? undefined : misspelled(value, values);
    if (meant === undefined) return undefined;
    return wrongLabel(target, policy, { written: `${key}: ${value}`, key, meant: `${key}: ${meant}` });
  }
  const written = Object.keys(target.labels).find(
    (one) => !known.has(one) && values.includes(target.labels[one] ?? '') && misspelled(one, [key]),
  );
  return written === undefined
    ? undefined
    : wrongLabel(target, policy, { written, key: written, meant: key });
};

/** The name that was probably meant. Names that differ only in a number are different names. */
export const misspelled = (written: string, names: Iterable<string>): string | undefined => {
  const meant = nearestName(written, names);
  return meant !== undefined && withoutNumbers(meant) !== withoutNumbers(written) ? meant : undefined;
};

const withoutNumbers = (text: string): string => text.replaceAll(/[-_.]?\d+/g, '');

const wrongLabel = (
  target: DeploymentTarget,
  policy: SchedulingPolicy,
  { written, key, meant }: { readonly written: string; readonly key: string; readonly meant: string },
): FleetError =>
  new FleetError('REFERENCE_MISSING', `no policy selects the label ${written}`, {
    subject: `DeploymentTarget ${target.name}`,
    at: target.labelPlaces?.[key] ?? target.at,
    hint: `Did you mean ${meant}, as policy ${policy.name} has it?`,
  });
