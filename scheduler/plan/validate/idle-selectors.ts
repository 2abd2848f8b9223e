import { FleetError, formatPlace } from '#bundles/errors';
import { matchesClusterType, matchesTarget } from '../compose/match-selector.ts';
import type { Labels, Platform } from '../../model/model.ts';
import { equalityTerms, misspelled, targetTerms, type Term } from '../../model/selectors/find-misspelled.ts';
import { matchLabels } from '../../model/selectors/match-labels.ts';
import { selectsTarget } from '../../model/selectors/select-pairs.ts';

export type IdleSelectors = {
  /** Selectors with a probably misspelled label or value; in our form only. */
  readonly problems: readonly FleetError[];
  /** Selectors that may be meant for future objects. */
  readonly advice: readonly FleetError[];
};

type Idle = { readonly error: FleetError; readonly isMisspelled: boolean };

/**
 * Selectors that match nothing in any of these environments: usually a misspelling, which would go unnoticed. A selector
 * that matches in one environment is not reported.
 */
export const findIdleSelectors = (environments: readonly Platform[]): IdleSelectors => {
  const [first, ...others] = environments.map(
    (platform) => new Map(idleIn(platform).map((idle) => [keyOf(idle), idle])),
  );
  const everywhere = [...(first ?? [])]
    .filter(([key]) => others.every((other) => other.has(key)))
    .map(([key, idle]) => others.map((other) => other.get(key)).find((one) => one?.isMisspelled) ?? idle);
  const [problems = [], advice = []] = [true, false].map((wanted) =>
    everywhere.filter(({ isMisspelled }) => isMisspelled === wanted).map(({ error }) => error),
  );
  return { problems, advice };
};

/** The key leaves out the hint, which depends on the environment. */
const keyOf = ({ error: { subject, at, message } }: Idle): string =>
  [subject, at && formatPlace(at), message].join('\0');

const idleIn = (platform: Platform): readonly Idle[] => {
  const idle = [...idlePolicies(platform), ...idleLayers(platform)];
  return platform.form === 'fleet' ? idle : idle.map((one) => ({ ...one, isMisspelled: false }));
};

const idlePolicies = ({ policies, targets, clusterTypes }: Platform): readonly Idle[] =>
  policies.flatMap((policy) => {
    const noTarget = !targets.some((target) => selectsTarget(policy, target));
    const noType = !clusterTypes.some(({ labels }) => matchLabels(policy.clusterTypes, labels));
    if (!noTarget && !noType) return [];
    const nothing = [...(noTarget ? ['deployment target'] : []), ...(noType ? ['cluster type'] : [])];
    const meant =
      (noTarget && meantOf(targetTerms(policy), targets)) ||
      (noType && meantOf(equalityTerms(policy.clusterTypes), clusterTypes));
    const error = new FleetError('REFERENCE_MISSING', `the policy selects no ${nothing.join(' and no ')}`, {
      subject: `SchedulingPolicy ${policy.name}`,
      at: policy.at,
      hint: meant || 'Compare its selectors with the labels of the intended objects',
    });
    return { error, isMisspelled: Boolean(meant) };
  });

/** 'It asks for place: halls. Did you mean place: hall?'; undefined without a similar label. */
const meantOf = (terms: readonly Term[], all: readonly { readonly labels: Labels }[]): string | undefined => {
  const keys = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  for (const { key, values } of terms) {
    const there = new Set(all.map(({ labels }) => labels[key]).filter((value) => value !== undefined));
    if (values.some((value) => there.has(value))) continue;
    const otherKey = keys.has(key) ? undefined : misspelled(key, keys);
    if (otherKey !== undefined) return `It asks for the label ${key}. Did you mean ${otherKey}?`;
    for (const value of values) {
      const other = misspelled(value, there);
      if (other !== undefined) return `It asks for ${key}: ${value}. Did you mean ${key}: ${other}?`;
    }
  }
  return undefined;
};

/** Layers with a label that no cluster type and no deployment target has: they never apply. */
const idleLayers = ({ configs, schemas, targets, clusterTypes }: Platform): readonly Idle[] =>
  [
    ...configs.map((layer) => ({ ...layer, what: 'values apply' })),
    ...schemas.map((schema) => ({ ...schema, name: `ConfigSchema ${schema.name}`, what: 'rules apply' })),
  ].flatMap(({ name, selector, at, what }) => {
    const idle = Object.entries(selector).find(
      ([key, value]) =>
        !clusterTypes.some((one) => matchesClusterType(key, value, one)) &&
        !targets.some((one) => matchesTarget(key, value, one)),
    );
    if (!idle) return [];
    const [key, value] = idle;
    const meant = meantOf(
      [{ key, values: [value] }],
      [...clusterTypes.map(withNames('cluster-type')), ...targets.map(withNames('deployment-target'))],
    );
    const error = new FleetError(
      'REFERENCE_MISSING',
      `it selects by ${idle.join('=')}, which no cluster type and no deployment target has`,
      { subject: name, at, hint: meant ?? `Its ${what} to nothing; check the spelling` },
    );
    return { error, isMisspelled: meant !== undefined };
  });

/** Three keys of a selector match names instead of labels (behaviour spec 2.4); targets have their workload as a label. */
const withNames =
  (key: 'cluster-type' | 'deployment-target') =>
  ({ name, labels }: { readonly name: string; readonly labels: Labels }) => ({
    labels: { ...labels, [key]: name },
  });
