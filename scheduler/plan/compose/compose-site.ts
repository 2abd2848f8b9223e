import { defined } from '#bundles/defined';
import { formatCount } from '#bundles/format-count';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { FleetError, formatPlace } from '#bundles/errors';
import type { ComposedValues } from '#bundles/formats/statements/predicates';
import { keyText, plainValue, type ConfigMapping } from '../../model/plain-value.ts';
import type { ClusterType, DeclaredSite, DeploymentTarget, Labels, SiteLayer } from '../../model/model.ts';
import { composeLayers } from './compose-config.ts';
import { type ConfigOrigin, explainConfig } from './explain-config.ts';
import { findTies, type LayerTie } from './find-ties.ts';
import { matchSelector } from './match-selector.ts';

/** An agent as layers see it. */
export type LayeredAgent = {
  readonly site: string;
  readonly agent: string;
  /** labelsForLayers. */
  readonly labels: Labels;
};

/** The labels that layers see: those of its enrolment override those that the repository declares for its site. */
export const labelsForLayers = (declared: DeclaredSite | undefined, enrolled: Labels): Labels => ({
  ...declared?.labels,
  ...enrolled,
});

/** Whether an agent has all labels of a `siteSelector`; an absent label equals an empty one, as in every selector. */
export const matchesSite = (selector: Labels, { site, agent, labels }: LayeredAgent): boolean =>
  Object.entries(selector).every(([key, value]) => {
    switch (key) {
      case 'site':
        return site === value;
      case 'agent':
        return agent === value;
      default:
        return (Object.hasOwn(labels, key) ? (labels[key] ?? '') : '') === value;
    }
  });

/** The values that some layers give an agent, or one assignment there. */
export type SiteComposition = {
  /** The layers that select it, in ascending precedence. */
  readonly layers: readonly SiteLayer[];
  /** Values below those that people set, and those of layers with `fixed` above them; by name. */
  readonly values: SiteValuesMap;
  readonly fixed: SiteValuesMap;
  /** Of every value: layer, place and what it overrides; of values of `fixed` first. */
  readonly origins: readonly ConfigOrigin<SiteLayer>[];
  /** Layers that set one value alike, of which none has more labels. */
  readonly ties: readonly LayerTie[];
};

type SiteValuesMap = Readonly<Record<string, Json>>;

/** The values of an agent from layers, with all assignments that a layer selects by a label of their target. */
export type AgentComposition = {
  /** For all its assignments. */
  readonly whole: SiteComposition;
  /** By assignment, only where it differs from `whole` in its layers. */
  readonly assignments: ReadonlyMap<string, SiteComposition>;
  /** Its entry of the values document; undefined: no layer gives it a value that it takes. */
  readonly document: ComposedValues | undefined;
};

/** An assignment at the agent, and which names of site values its package takes. */
export type Taker = {
  readonly target: Pick<DeploymentTarget, 'name' | 'workload' | 'labels'>;
  readonly takes: (name: string) => boolean;
};

export type SiteComposer = (agent: LayeredAgent) => AgentComposition;

/**
 * Composes the values of the agents that follow one cluster type. Pure: agents that the same layers select share one result. Layers with
 * fewer labels come first in `layers` (Platform.siteLayers), later ones override them, and mappings are merged as everywhere.
 * @param takers the assignments of the cluster type. A name that none takes is in no document
 */
export const createSiteComposer = (
  layers: readonly SiteLayer[],
  clusterType: ClusterTypeTerms,
  takers: readonly Taker[],
): SiteComposer => {
  // Only for these a package may get other values than the others beside it.
  const ofType = layers.filter(
    ({ selector }) =>
      matchesPair(selector, clusterType, undefined) ||
      takers.some(({ target }) => matchesPair(selector, clusterType, target)),
  );
  const known = new Map<string, AgentComposition>();
  return (agent) => {
    const selecting = ofType.filter(({ siteSelector }) => matchesSite(siteSelector, agent));
    const key = selecting.map((one) => ofType.indexOf(one)).join(',');
    const found = known.get(key) ?? composeAgent(selecting, clusterType, takers);
    known.set(key, found);
    return found;
  };
};

export type ClusterTypeTerms = Pick<ClusterType, 'name' | 'labels'>;

const composeAgent = (
  layers: readonly SiteLayer[],
  clusterType: ClusterTypeTerms,
  takers: readonly Taker[],
): AgentComposition => {
  const isForAll = (layer: SiteLayer): boolean => matchesPair(layer.selector, clusterType, undefined);
  const shared = layers.filter(isForAll);
  const whole = composeSite(shared, (name) => takers.some(({ takes }) => takes(name)));
  const assignments = new Map<string, SiteComposition>();
  if (shared.length < layers.length)
    for (const { target, takes } of takers) {
      const own = layers.filter(
        (layer) => isForAll(layer) || matchesPair(layer.selector, clusterType, target),
      );
      if (own.length > shared.length) assignments.set(target.name, composeSite(own, takes));
    }
  return { whole, assignments, document: toDocument(whole, assignments) };
};

const matchesPair = (
  selector: Labels,
  clusterType: ClusterTypeTerms,
  target: Taker['target'] | undefined,
): boolean => matchSelector(selector, clusterType as ClusterType, (target ?? NO_TARGET) as DeploymentTarget);

/** Has no label, and a name that no selector can ask for. */
const NO_TARGET: Taker['target'] = { name: '', workload: '', labels: {} };

/** Composes layers that all select the same. @param takes limits the values, and the ties, to these names */
export const composeSite = (
  layers: readonly SiteLayer[],
  takes: (name: string) => boolean = () => true,
): SiteComposition => {
  const only = layers
    .map((layer) => ({ ...layer, values: pick(layer.values, takes) }))
    .filter(({ values }) => Object.keys(values).length > 0);
  const [below, above] = [only.filter(({ fixed }) => !fixed), only.filter(({ fixed }) => fixed)];
  const fixed = toJson(composeLayers(above));
  return {
    layers: only,
    values: toJson(composeLayers(below)),
    fixed,
    origins: [...explainConfig(above), ...explainConfig(below)],
    ties: [...findTies(below), ...findTies(above)],
  };
};

const pick = (values: ConfigMapping, takes: (name: string) => boolean): ConfigMapping =>
  Object.fromEntries(Object.entries(values).filter(([name]) => takes(name)));

const toJson = (values: ConfigMapping): SiteValuesMap => plainValue(values) as SiteValuesMap;

const toDocument = (
  whole: SiteComposition,
  assignments: AgentComposition['assignments'],
): ComposedValues | undefined => {
  const part = (of: (one: SiteComposition) => SiteValuesMap): Layered | undefined => {
    const all = of(whole);
    const own = [...assignments].flatMap(([id, one]) => {
      const differing = differingIn(of(one), all);
      return Object.keys(differing).length === 0 ? [] : [[id, differing] as const];
    });
    return Object.keys(all).length === 0 && own.length === 0
      ? undefined
      : defined({ values: all, assignments: own.length > 0 ? Object.fromEntries(own) : undefined });
  };
  const [below, fixed] = [part(({ values }) => values), part((one) => one.fixed)];
  return below || fixed ? { ...(below ?? { values: {} }), ...defined({ fixed }) } : undefined;
};

type Layered = Pick<ComposedValues, 'values' | 'assignments'>;

/** A name of an assignment has the layers of `all` and its own: it is never absent there. */
const differingIn = (own: SiteValuesMap, all: SiteValuesMap): SiteValuesMap =>
  Object.fromEntries(
    Object.entries(own).filter(
      ([name, value]) =>
        !Object.hasOwn(all, name) ||
        canonicalJson(value, 'doubles') !== canonicalJson(all[name] ?? null, 'doubles'),
    ),
  );

/** The error of a tie at an agent, with both files. */
export const tieError = ({ layers: [first, second], path, labels }: LayerTie, who: string): FleetError =>
  new FleetError(
    'LAYER_TIE',
    `Config ${first.name} and Config ${second.name} (${formatPlace(second.at)}) both set ${path
      .map(keyText)
      .join('.')} for ${who}, and both select by ${formatCount(labels, 'label')}`,
    {
      subject: `Config ${first.name}`,
      at: first.at,
      hint: 'Let one of them select by one label more, or remove the value from one',
    },
  );
