import { FleetError, type Place } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { didYouMean } from '#bundles/nearest-name';
import type { Location } from '../../model/location.ts';
import { collectProblems, type Problems } from '../../model/problems.ts';
import type { EnvironmentEntry, Promotion, RolloutStage } from '../../model/promotion.ts';
import { type ObjectOf, ofKind, type PlatformObject } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import type { Sources } from '../sources/open-sources.ts';

/** Folder of the policies, beside fleet.yaml. */
const FOLDER = 'promotion/';

/** Where a platform is, and what its root says about environments. */
export type PromotionRoot = {
  readonly location: Location;
  readonly path: string;
} & (
  | { readonly form: 'fleet'; readonly fleet: ObjectOf<'Fleet'> }
  | {
      readonly form: 'kalypso';
      readonly kalypso: { readonly environments: readonly { readonly name: string }[] };
    }
);

/**
 * The chain of a platform and the policies in `promotion/`. They are no part of a candidate: give `sources` that read the
 * newest state. A platform in Kalypso's form has neither. Mistakes are added to `problems`, and policies with mistakes are
 * left out.
 */
export const loadPromotion = async (
  sources: Sources,
  root: PromotionRoot,
  problems: Problems,
): Promise<Promotion> => {
  if (root.form === 'kalypso')
    return { ...NO_POLICIES, environments: root.kalypso.environments.map(({ name }) => ({ name })) };
  const { location, path, fleet } = root;
  const source = await collectProblems(problems, () =>
    sources.read({ role: 'promotion', location, path, wanted: (name) => name.startsWith(FOLDER) }),
  );
  const objects = source ? readObjects(source, problems.found, 'refused') : [];
  problems.found.push(...objects.flatMap(misplaced), ...checkPolicies(fleet.entries, objects));
  return {
    environments: fleet.entries,
    promotionPolicies: ofKind(objects, 'PromotionPolicy').map((one) => one.promotionPolicy),
    rolloutPolicies: ofKind(objects, 'RolloutPolicy').map((one) => one.rolloutPolicy),
    freshnessPolicies: ofKind(objects, 'FreshnessPolicy').map((one) => one.freshnessPolicy),
  };
};

const NO_POLICIES = { promotionPolicies: [], rolloutPolicies: [], freshnessPolicies: [] } as const;

type Policy = ObjectOf<'PromotionPolicy' | 'RolloutPolicy' | 'FreshnessPolicy'>;

const isPolicy = (object: PlatformObject): object is Policy =>
  object.kind === 'PromotionPolicy' || object.kind === 'RolloutPolicy' || object.kind === 'FreshnessPolicy';

const misplaced = (object: PlatformObject): readonly FleetError[] =>
  isPolicy(object)
    ? []
    : [
        new FleetError('UNKNOWN_KIND', `a ${object.kind} has no meaning here`, {
          subject: `${object.kind} ${object.name}`,
          at: object.at,
          hint: 'The folder promotion/ holds PromotionPolicy, RolloutPolicy and FreshnessPolicy',
        }),
      ];

/** Mistakes between the policies, and between a policy and the chain. */
const checkPolicies = (
  chain: readonly EnvironmentEntry[],
  objects: readonly PlatformObject[],
): readonly FleetError[] => {
  const policies = objects.filter(isPolicy);
  const taken = new Map<string, Policy>();
  return policies.flatMap((policy) => [
    ...scopesOf(policy).flatMap((scope) => {
      const other = taken.get(scope);
      taken.set(scope, other ?? policy);
      return other ? [clash(policy, other, scope)] : [];
    }),
    ...mistakesOf(policy, chain),
  ]);
};

/** Words for what at most one policy of its kind may be about. */
const scopesOf = (policy: Policy): readonly string[] => {
  switch (policy.kind) {
    case 'PromotionPolicy':
      return [`the promotion from ${policy.promotionPolicy.from} to ${policy.promotionPolicy.to}`];
    case 'RolloutPolicy':
      return [`rollouts in ${policy.rolloutPolicy.environment}`];
    case 'FreshnessPolicy': {
      const { environment, clusterTypes } = policy.freshnessPolicy;
      return clusterTypes.length === 0
        ? [`the freshness of ${environment}`]
        : clusterTypes.map((type) => `the freshness of ${environment}/${type}`);
    }
  }
};

const clash = (policy: Policy, other: Policy, scope: string): FleetError =>
  new FleetError('NAME_CLASH', `${policy.kind} ${other.name} is about ${scope}, too`, {
    subject: `${policy.kind} ${policy.name}`,
    at: policy.at,
    hint: `Remove one of them; the other one is at ${other.at.file}${other.at.line === undefined ? '' : `:${other.at.line}`}`,
  });

const mistakesOf = (policy: Policy, chain: readonly EnvironmentEntry[]): readonly FleetError[] => {
  const mistake = (
    code: 'REFERENCE_MISSING' | 'FIELD_INVALID',
    message: string,
    { at, hint }: { readonly at: Place | undefined; readonly hint: string },
  ): FleetError =>
    new FleetError(code, message, { subject: `${policy.kind} ${policy.name}`, at: at ?? policy.at, hint });
  const names = chain.map(({ name }) => name);
  const unknown = (environment: string, at: Place | undefined): readonly FleetError[] => {
    if (names.includes(environment)) return [];
    const hint = `${didYouMean(environment, names) ?? ''}The fleet has ${names.join(', ')}`;
    return [mistake('REFERENCE_MISSING', `the fleet has no environment ${environment}`, { at, hint })];
  };
  switch (policy.kind) {
    case 'PromotionPolicy': {
      const { from, to, approvals, freeze } = policy.promotionPolicy;
      const keys = new Set(approvals?.from).size;
      const ends = [...unknown(from, policy.places['from']), ...unknown(to, policy.places['to'])];
      const before = chain.find(({ name }) => name === to)?.promotedFrom;
      const hint =
        before === undefined
          ? `Write promotedFrom: ${from} at ${to} in fleet.yaml`
          : `${to} is promoted from ${before}`;
      const message = `${to} is not promoted from ${from}`;
      const at = policy.places['from'];
      return [
        ...(ends.length === 0 && before !== from
          ? [mistake('REFERENCE_MISSING', message, { at, hint })]
          : ends),
        ...(approvals && keys > 0 && keys < approvals.required
          ? [
              mistake(
                'FIELD_INVALID',
                `it asks for ${formatCount(approvals.required, 'approval')}, and ${formatCount(keys, 'key')} may give one`,
                { at: policy.places['approvals'], hint: 'Require fewer, or add fingerprints to from' },
              ),
            ]
          : []),
        ...freeze
          .filter((days) => !(isDay(days.from) && isDay(days.to) && days.from <= days.to))
          .map((days) =>
            mistake('FIELD_INVALID', `the freeze from ${days.from} to ${days.to} is not a span of days`, {
              at: policy.places['freeze'],
              hint: 'Write from before to, both as days of the calendar',
            }),
          ),
      ];
    }
    case 'RolloutPolicy': {
      const { environment, stages } = policy.rolloutPolicy;
      const at = policy.places['stages'];
      const [first] = stages;
      return [
        ...unknown(environment, policy.places['environment']),
        ...(first && first.approvals > 0
          ? [
              mistake(
                'FIELD_INVALID',
                `the first stage, ${first.name}, begins with the release and waits for no approvals`,
                { at, hint: 'Require them in the PromotionPolicy of the environment, or at a later stage' },
              ),
            ]
          : []),
        ...stages.flatMap((stage, index) => {
          const before = stages.slice(0, index);
          const same = before.some(({ name }) => name === stage.name);
          const whole = before.find((earlier) => holds(earlier, stage));
          if (same)
            return [
              mistake('FIELD_INVALID', `two stages are called ${stage.name}`, { at, hint: 'Rename one' }),
            ];
          if (!whole) return [];
          const hint = 'Remove it, or select more agents than the stages before';
          const adds = `the stage ${stage.name} adds no agents to those of ${whole.name}`;
          return [mistake('FIELD_INVALID', adds, { at, hint })];
        }),
      ];
    }
    case 'FreshnessPolicy': {
      const { environment, lateSeconds, staleSeconds } = policy.freshnessPolicy;
      const hint = 'An agent is late first, and stale some time later';
      return [
        ...unknown(environment, policy.places['environment']),
        ...(staleSeconds > lateSeconds
          ? []
          : [
              mistake('FIELD_INVALID', 'stale is not longer than late', { at: policy.places['stale'], hint }),
            ]),
      ];
    }
  }
};

/**
 * Whether every agent that `later` selects is selected by `earlier`: its labels are a subset of the labels of `later`, and its
 * percent is not less.
 */
const holds = (earlier: RolloutStage, later: RolloutStage): boolean =>
  (earlier.percent ?? 100) >= (later.percent ?? 100) &&
  Object.entries(earlier.selector?.matchLabels ?? {}).every(
    ([label, value]) => later.selector?.matchLabels[label] === value,
  );

/** Read back, so that 30 February is refused and not moved into March. */
const isDay = (text: string): boolean => {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === text;
};
