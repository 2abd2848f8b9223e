import type { Place } from '#bundles/errors';
import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import type { InputFault } from '#bundles/formats/author-schema/judge-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { ownValue } from '#bundles/own-value';
import type { AgentComposition } from '../../compose/compose-site.ts';
import type { LayerTie } from '../../compose/find-ties.ts';
import type { ChannelLayers } from './channel-layers.ts';
import type { SitePlace } from './site-places.ts';

/** A value of an agent that one of its assignments cannot take, or needs and has not. */
export type ValueFault = {
  readonly kind: InputFault['kind'];
  readonly place: SitePlace;
  readonly channel: ChannelLayers;
  readonly config: BundleConfig;
  readonly assignment: string;
  readonly name: string;
  readonly why: string;
  /** Place of the layer that gives it; undefined: none does. */
  readonly at: Place | undefined;
};

export type TieFault = { readonly kind: 'tie'; readonly place: SitePlace; readonly tie: LayerTie };

/** A value that people gave and that no assignment takes. */
export type UntakenFault = {
  readonly kind: 'untaken';
  readonly place: SitePlace;
  readonly channel: ChannelLayers;
  readonly name: string;
};

export type SiteFault = ValueFault | TieFault | UntakenFault;

/** One value of an input, which many agents may have; undefined: none. */
type Cell = {
  readonly config: BundleConfig;
  readonly name: string;
  readonly value: Json | undefined;
  fault: InputFault | undefined;
};

/** One per input of an assignment at each agent: what only a fault needs is found when there is one. */
type Use = Pick<ValueFault, 'place' | 'channel' | 'assignment'> & {
  readonly composition: AgentComposition;
  readonly cell: Cell;
};

/**
 * Judges the values of agents, from layers and from people, by the site inputs of the bundles of their channels. Each distinct value is judged
 * once, however many agents have it. Pure but for the schemas that it compiles.
 * @param channels by formatChannel; a place without one of them is not judged
 */
export const judgePlaces = async (
  places: readonly SitePlace[],
  channels: ReadonlyMap<string, ChannelLayers>,
): Promise<readonly SiteFault[]> => {
  const cells = createCells();
  const uses: Use[] = [];
  const faults: SiteFault[] = [];
  for (const place of places)
    for (const name of place.channels) {
      const channel = channels.get(name);
      if (!channel) continue;
      const composition = channel.compose(place.agent);
      faults.push(...tiesOf(composition).map((tie) => ({ kind: 'tie' as const, place, tie })));
      if (place.known === 'together') continue;
      for (const use of usesOf(place, channel, composition, cells.of)) uses.push(use);
      faults.push(...untakenOf(place, channel));
    }
  await cells.judge();
  const isCertain = ({ known }: SitePlace): boolean => known === 'enrolled' || known === 'declared';
  for (const { cell, composition, ...use } of uses.filter(({ cell: { fault } }) => fault)) {
    const { fault, config, name } = cell;
    if (!fault || (fault.kind === 'missing' && !isCertain(use.place))) continue;
    const at = layerPlace(use, composition, name);
    faults.push({ ...use, config, name, kind: fault.kind, why: fault.why, at });
  }
  return faults;
};

const tiesOf = ({ whole, assignments }: AgentComposition): readonly LayerTie[] => {
  const all = [whole, ...assignments.values()].flatMap(({ ties }) => ties);
  return [...new Map(all.map((tie) => [JSON.stringify([tie.layers, tie.path]), tie])).values()];
};

function* usesOf(
  place: SitePlace,
  channel: ChannelLayers,
  composition: AgentComposition,
  cellOf: Cells['of'],
): Generator<Use> {
  const { agent, document } = place;
  const composed = composition.document ? { [agent.agent]: composition.document } : {};
  const after: SiteValues = { ...document, composed };
  const shared = valuesOfAgent(after, agent.agent);
  for (const config of channel.configs) {
    const sharedCells = new Map<string, Cell>();
    for (const [assignment, names] of inputsOf(config)) {
      const own = composition.assignments.has(assignment) && valuesOfAgent(after, agent.agent, assignment);
      for (const name of names) {
        const cell =
          (own ? undefined : sharedCells.get(name)) ?? cellOf(config, name, ownValue(own || shared, name));
        if (!own) sharedCells.set(name, cell);
        yield { place, channel, composition, assignment, cell };
      }
    }
  }
}

/** Place of the layer that gives the value, unless people gave it. */
const layerPlace = (
  { place, assignment }: Pick<Use, 'place' | 'assignment'>,
  { whole, assignments }: AgentComposition,
  name: string,
): Place | undefined =>
  isGiven(place, name)
    ? undefined
    : (assignments.get(assignment) ?? whole).origins.find(({ path: [first] }) => first === name)?.at;

/** Whether people gave the value. One of a fixed layer overrides it, which is no fault of theirs but has its place only there. */
const isGiven = ({ agent: { agent }, document: { values, agents } }: SitePlace, name: string): boolean =>
  Object.hasOwn(values, name) || Object.hasOwn(ownValue(agents, agent) ?? {}, name);

const untakenOf = (place: SitePlace, channel: ChannelLayers): readonly UntakenFault[] => {
  const { values, agents } = place.document;
  const own = ownValue(agents, place.agent.agent);
  return [...new Set([...Object.keys(values), ...Object.keys(own ?? {})])]
    .filter((name) => !channel.takers.some(({ takes }) => takes(name)))
    .map((name) => ({ kind: 'untaken', place, channel, name }));
};

const inputs = new WeakMap<BundleConfig, ReadonlyMap<string, ReadonlySet<string>>>();

/** The names of the site inputs of each assignment. */
export const inputsOf = (config: BundleConfig): ReadonlyMap<string, ReadonlySet<string>> => {
  const known = inputs.get(config);
  if (known) return known;
  const found = new Map(
    [...Map.groupBy(config.siteInputs.fields, ({ assignment }) => assignment)].map(
      ([assignment, fields]) => [assignment, new Set(fields.map(({ input }) => input))] as const,
    ),
  );
  inputs.set(config, found);
  return found;
};

type Cells = {
  readonly of: (config: BundleConfig, name: string, value: Json | undefined) => Cell;
  /** Judges all values input by input: the schema of an input is compiled once. */
  readonly judge: () => Promise<void>;
};

const createCells = (): Cells => {
  const known = new Map<BundleConfig, Map<string, Map<string, Cell>>>();
  const at = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
    const found = map.get(key) ?? make();
    map.set(key, found);
    return found;
  };
  return {
    of: (config, name, value) =>
      at(
        at(
          at(known, config, () => new Map()),
          name,
          () => new Map(),
        ),
        value === undefined ? '' : canonicalJson(value, 'doubles'),
        () => ({ config, name, value, fault: undefined }),
      ),
    judge: async () => {
      for (const [config, byName] of known)
        for (const [name, cells] of byName) {
          const schema = schemaOfInput(config, name);
          for (const cell of cells.values()) {
            const values = cell.value === undefined ? {} : { [name]: cell.value };
            cell.fault = (await judgeSiteValues(schema, values, new Set([name]))).faults.get(name);
          }
        }
    },
  };
};

type Schema = BundleConfig['siteInputs']['schema'];

/** The schema of one input alone, as judgeSiteValues judges it when the whole fails. */
const schemaOfInput = ({ siteInputs: { schema } }: BundleConfig, name: string): Schema => {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return {
    ...schema,
    properties: Object.hasOwn(properties, name) ? { [name]: properties[name] ?? {} } : {},
    required: required.includes(name) ? [name] : [],
  };
};
