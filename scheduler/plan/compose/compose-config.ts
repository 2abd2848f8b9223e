import type {
  ClusterType,
  ConfigLayer,
  ConfigSchema,
  DeploymentTarget,
  Platform,
  Value,
} from '../../model/model.ts';
import { matchesClusterType, matchesTarget } from './match-selector.ts';
import { type ConfigMapping, plainValue } from '../../model/plain-value.ts';
import { remember } from '../../model/remember.ts';
import { merge } from './merge.ts';

/** The configuration of one deployment target on one cluster type. All pairs that the same layers select share it. */
export type Composition = {
  /** The matching layers, in ascending precedence. */
  readonly layers: readonly ConfigLayer[];
  readonly schemas: readonly ConfigSchema[];
  readonly values: ConfigMapping;
  /** `values` as JSON values. */
  readonly plain: { readonly [key: string]: Value };
};

export type Composer = (clusterType: ClusterType, target: DeploymentTarget) => Composition;

/** Merges the layers in ascending precedence: later ones override earlier ones. */
export const composeLayers = (layers: readonly ConfigLayer[]): ConfigMapping => {
  let values: ConfigMapping = {};
  for (const layer of layers) values = merge(values, layer.values) as ConfigMapping;
  return values;
};

/**
 * Composes configuration for pairs of a platform. The matching layers depend only on which labels of the selectors a pair
 * has, so pairs with equal answers share one composition: a fleet of 50,000 pairs with a dozen distinct answers composes a
 * dozen times.
 * @param bySelection earlier compositions; the caller removes unused ones
 */
export const createComposer = (
  platform: Pick<Platform, 'configs' | 'schemas'>,
  bySelection = new Map<string, Composition>(),
): Composer => {
  const labels = distinctLabels([...platform.configs, ...platform.schemas].map((one) => one.selector));
  const configs = platform.configs.map((layer) => ({
    item: layer,
    wants: indexesOf(layer.selector, labels),
  }));
  const schemas = platform.schemas.map((schema) => ({
    item: schema,
    wants: indexesOf(schema.selector, labels),
  }));
  const answersOfType = remember((type: ClusterType) =>
    answers(labels, (key, value) => matchesClusterType(key, value, type)),
  );
  const answersOfTarget = remember((target: DeploymentTarget) =>
    answers(labels, (key, value) => matchesTarget(key, value, target)),
  );
  /** Keyed by the answers of the cluster type, then of the target: two short look-ups for each of 50,000 pairs. */
  const compositions = new Map<string, Map<string, Composition>>();
  return (clusterType, target) => {
    const type = answersOfType(clusterType);
    const own = answersOfTarget(target);
    const ofType = compositions.get(type) ?? new Map<string, Composition>();
    compositions.set(type, ofType);
    const known = ofType.get(own);
    if (known) return known;
    const holds = (one: { wants: readonly number[] }) =>
      one.wants.every((at) => type[at] === '1' || own[at] === '1');
    const layers = configs.filter(holds).map((one) => one.item);
    const selected = schemas.filter(holds).map((one) => one.item);
    const selection = `${layers.map(identityNumber).join(',')}|${selected.map(identityNumber).join(',')}`;
    const composition = bySelection.get(selection) ?? compose(layers, selected);
    bySelection.set(selection, composition);
    ofType.set(own, composition);
    return composition;
  };
};

const compose = (layers: readonly ConfigLayer[], schemas: readonly ConfigSchema[]): Composition => {
  const values = composeLayers(layers);
  return { layers, schemas, values, plain: plainValue(values) as Composition['plain'] };
};

type Label = { readonly key: string; readonly value: string };

const distinctLabels = (selectors: readonly Readonly<Record<string, string>>[]): readonly Label[] => {
  const found = new Map<string, Label>();
  for (const selector of selectors)
    for (const [key, value] of Object.entries(selector)) found.set(`${key}\0${value}`, { key, value });
  return [...found.values()];
};

const indexesOf = (selector: Readonly<Record<string, string>>, labels: readonly Label[]): readonly number[] =>
  Object.entries(selector).map(([key, value]) =>
    labels.findIndex((label) => label.key === key && label.value === value),
  );

/** One character for each label: '1' if it matches. */
const answers = (labels: readonly Label[], test: (key: string, value: string) => boolean): string =>
  labels.map((label) => (test(label.key, label.value) ? '1' : '0')).join('');

const identityNumbers = new WeakMap<object, number>();
let lastNumber = 0;

/** A number that identifies this object while it lives. For keys of in-memory caches, never for output. */
const identityNumber = (one: object): number => {
  const known = identityNumbers.get(one);
  if (known !== undefined) return known;
  lastNumber += 1;
  identityNumbers.set(one, lastNumber);
  return lastNumber;
};
