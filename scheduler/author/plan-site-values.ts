import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { isRecord } from '#bundles/is-record';
import { FleetError } from '#bundles/errors';
import { isSamePlace } from './check/edited-sources.ts';
import { newObject } from './new-object.ts';
import type { Layer } from './place/layer.ts';
import { findObject, planChanges, planNew, type PlannedEdit } from './place/plan-edit.ts';

/** Values for the sites or agents that a selector selects. */
export type SiteValuesEdit = {
  /** Environment of the sites: its own folder holds the Config. */
  readonly environment: string;
  readonly siteSelector: Readonly<Record<string, string>>;
  readonly set: Readonly<Record<string, Json>>;
  readonly unset: readonly string[];
};

/**
 * Plans values of sites as Configs of the platform, each in the one that has exactly its `siteSelector` and no other terms, or in a new one, of the
 * environment's own layer where it has a folder. Each file is read and written once, however many of its Configs change.
 * @throws FleetError USAGE for a value to remove that no Config gives, and for Configs in several repositories; NAME_CLASH, NAME_INVALID, FIELD_INVALID
 */
export const planSiteValues = (layers: readonly Layer[], edits: readonly SiteValuesEdit[]): PlannedEdit => {
  const configs = new Map<string, TouchedConfig>();
  const known = new Map<string, ReadonlyMap<string, FoundConfig>>();
  for (const edit of edits) {
    const places = placesOf(layers, edit);
    const key = canonicalJson(edit.siteSelector);
    const found =
      places.map(({ name }) => configs.get(`${name} ${key}`)).find((one) => one) ??
      findKnown(places, key, known) ??
      newConfig(places[0] as Layer, edit, configs);
    configs.set(`${found.layer} ${key}`, found);
    change(found, edit);
  }
  const planned: PlannedEdit[] = [];
  let present = layers;
  const take = (one: PlannedEdit): void => {
    planned.push(one);
    present = present.map((layer) => (layer.name === one.layer ? withEdit(layer, one) : layer));
  };
  for (const [name, own] of Map.groupBy(configs.values(), ({ layer }) => layer)) {
    const changed = own
      .filter(({ isNew }) => !isNew)
      .map(({ name: config, set }) => ({ kind: 'Config', name: config, set }));
    const same = new Set(own.filter(keepsItsValues).map((config) => `Config ${config.name}`));
    for (const one of planChanges(layerOf(present, name), changed))
      take(same.has(one.subject) ? { ...one, outcome: 'unchanged' } : one);
    for (const config of own.filter(({ isNew }) => isNew)) {
      const layer = layerOf(present, name);
      take(planNew(layer, newObject(layer.form, { ...NEW, ...config, kind: 'Config' })));
    }
  }
  return joinEdits(planned);
};

const NEW = { selector: {}, fixed: false };

/** A Config with the values that it has after the edits. */
type TouchedConfig = {
  readonly layer: string;
  readonly name: string;
  readonly siteSelector: SiteValuesEdit['siteSelector'];
  readonly isNew: boolean;
  /** Before the edits; undefined: there is no such Config. */
  readonly before: FoundConfig | undefined;
  readonly values: Record<string, unknown>;
  readonly set: (readonly [path: readonly string[], value: unknown])[];
};

const keepsItsValues = ({ before, values }: TouchedConfig): boolean =>
  before !== undefined && isDeepStrictEqual(before.values, values);

const layerOf = (layers: readonly Layer[], name: string): Layer =>
  layers.find((layer) => layer.name === name) as Layer;

/** Layers that may give values of an environment: its own, and the one of all. @throws FleetError USAGE */
const placesOf = (layers: readonly Layer[], { environment }: SiteValuesEdit): readonly Layer[] => {
  const own = layers.filter((layer) => layer.environment === environment);
  const shared = layers.find(({ name }) => name === 'base');
  const places = [...own, ...(shared ? [shared] : [])];
  if (places.length > 0) return places;
  throw new FleetError('USAGE', `the platform has no folder for values of ${environment}`, {
    hint: `It has ${layers.map(({ name }) => name).join(', ')}`,
  });
};

const change = (config: TouchedConfig, { set, unset }: SiteValuesEdit): void => {
  const missing = unset.filter((name) => !Object.hasOwn(config.values, name));
  if (missing.length > 0)
    throw new FleetError('USAGE', `no Config for exactly these sites gives ${missing.join(', ')}`, {
      hint: 'A value that another layer gives is removed there; one of the hub with --here',
    });
  for (const [name, value] of Object.entries(set)) {
    config.values[name] = value;
    config.set.push([['spec', 'values', name], value]);
  }
  for (const name of unset) {
    delete config.values[name];
    config.set.push([['spec', 'values', name], undefined]);
  }
};

const findKnown = (
  places: readonly Layer[],
  key: string,
  known: Map<string, ReadonlyMap<string, FoundConfig>>,
): TouchedConfig | undefined => {
  for (const layer of places) {
    const configs = known.get(layer.name) ?? findConfigs(layer);
    known.set(layer.name, configs);
    const found = configs.get(key);
    if (found)
      return {
        ...found,
        layer: layer.name,
        isNew: false,
        before: found,
        values: { ...found.values },
        set: [],
      };
  }
  return undefined;
};

const newConfig = (
  layer: Layer,
  { siteSelector }: SiteValuesEdit,
  configs: ReadonlyMap<string, TouchedConfig>,
): TouchedConfig => {
  const name = nameOf(siteSelector);
  const isTaken =
    findObject(layer, 'Config', name) !== undefined ||
    [...configs.values()].some((one) => one.isNew && one.layer === layer.name && one.name === name);
  return {
    layer: layer.name,
    name: isTaken ? `${name}-values` : name,
    siteSelector,
    isNew: true,
    before: undefined,
    values: {},
    set: [],
  };
};

/** A layer with the files of an edit, and the object that it creates. */
const withEdit = (layer: Layer, { files, subject, outcome }: PlannedEdit): Layer => {
  const changed = new Set(files.map(({ path }) => path));
  const kept = layer.files.filter(({ path }) => !changed.has(path));
  const [first] = files;
  const name = subject.slice(subject.indexOf(' ') + 1);
  const created =
    outcome === 'created' && first
      ? [{ apiVersion: '', kind: 'Config', name, file: first.path, at: { file: first.path } }]
      : [];
  return {
    ...layer,
    files: [...kept, ...files.map(({ path, bytes }) => ({ path, bytes }))],
    objects: [...layer.objects, ...created],
  };
};

/** One edit of all files, each from the bytes before the first edit to those after the last. @throws FleetError USAGE */
const joinEdits = (planned: readonly PlannedEdit[]): PlannedEdit => {
  const [first, ...others] = planned;
  if (!first) throw new FleetError('USAGE', 'no value is given');
  const elsewhere = others.find(({ location }) => !isSamePlace(location, first.location));
  if (elsewhere)
    throw new FleetError(
      'USAGE',
      `these values belong into several repositories: ${first.subject} and ${elsewhere.subject}`,
      { hint: 'Set them in several calls' },
    );
  const files = new Map<string, PlannedEdit['files'][number]>();
  for (const file of planned.flatMap((one) => one.files))
    files.set(file.path, { ...file, was: files.has(file.path) ? files.get(file.path)?.was : file.was });
  const changed = planned.filter(({ outcome }) => outcome !== 'unchanged');
  const subjects = [...new Set((changed.length > 0 ? changed : planned).map(({ subject }) => subject))];
  return {
    ...first,
    files: [...files.values()],
    subject: subjects.length > 1 ? `${subjects.length} Configs of sites` : (subjects[0] ?? first.subject),
    outcome: changed[0]?.outcome ?? 'unchanged',
  };
};

/** 'site-plant-7', 'site-plant-7-agent-press-1', 'region-north' */
const nameOf = (selector: SiteValuesEdit['siteSelector']): string =>
  Object.entries(selector)
    .toSorted(([a], [b]) => Number(b === 'site') - Number(a === 'site') || (a < b ? -1 : 1))
    .flat()
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 200) || 'all-sites';

type FoundConfig = Pick<TouchedConfig, 'name' | 'siteSelector'> & {
  readonly values: Readonly<Record<string, unknown>>;
};

/** Configs of a layer with a selector of sites alone, by its canonical JSON; the first of each. */
const findConfigs = (layer: Layer): ReadonlyMap<string, FoundConfig> => {
  const files = new Set(layer.objects.filter(({ kind }) => kind === 'Config').map(({ file }) => file));
  const texts = layer.files.filter(({ path }) => files.has(path)).map(({ bytes }) => bytes.toString());
  return new Map(texts.flatMap(siteConfigs).toReversed());
};

/** Configs of a file with a selector of sites alone, with its canonical JSON. */
export const siteConfigs = (text: string): readonly (readonly [key: string, FoundConfig])[] =>
  parseAllDocuments(text)
    .map((one): unknown => one.toJS())
    .flatMap((object): (readonly [string, FoundConfig])[] => {
      if (!isRecord(object) || object['kind'] !== 'Config') return [];
      const { metadata, spec } = object as { readonly metadata?: unknown; readonly spec?: unknown };
      if (!isRecord(metadata) || !isRecord(spec) || spec['fixed'] === true) return [];
      if (Object.keys((spec['selector'] as object | undefined) ?? {}).length > 0) return [];
      const siteSelector = spec['siteSelector'] as SiteValuesEdit['siteSelector'] | undefined;
      if (siteSelector === undefined) return [];
      const values = isRecord(spec['values']) ? spec['values'] : {};
      return [[canonicalJson(siteSelector), { name: String(metadata['name']), siteSelector, values }]];
    });
