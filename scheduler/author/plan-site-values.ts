import { parseAllDocuments } from 'yaml';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { isRecord } from '#bundles/is-record';
import { FleetError } from '#bundles/errors';
import { isSamePlace } from './check/edited-sources.ts';
import { newObject } from './new-object.ts';
import type { Layer } from './place/layer.ts';
import { findObject, planChange, planNew, type PlannedEdit } from './place/plan-edit.ts';

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
 * environment's own layer where it has a folder.
 * @throws FleetError USAGE for a value to remove that no Config gives, and for Configs in several repositories; NAME_CLASH, NAME_INVALID, FIELD_INVALID
 */
export const planSiteValues = (layers: readonly Layer[], edits: readonly SiteValuesEdit[]): PlannedEdit => {
  let present = layers;
  const planned: PlannedEdit[] = [];
  for (const edit of edits) {
    const one = planOne(present, edit);
    planned.push(one);
    present = present.map((layer) => (layer.name === one.layer ? withEdit(layer, one) : layer));
  }
  return joinEdits(planned);
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

const planOne = (
  layers: readonly Layer[],
  { environment, siteSelector, set, unset }: SiteValuesEdit,
): PlannedEdit => {
  const own = layers.filter((layer) => layer.environment === environment);
  const shared = layers.find(({ name }) => name === 'base');
  const layer = own[0] ?? shared;
  if (!layer)
    throw new FleetError('USAGE', `the platform has no folder for values of ${environment}`, {
      hint: `It has ${layers.map(({ name }) => name).join(', ')}`,
    });
  const known = [...own, ...(shared ? [shared] : [])]
    .flatMap((one) => findConfig(one, siteSelector).map((config) => ({ layer: one, ...config })))
    .at(0);
  const missing = unset.filter((name) => !known || !Object.hasOwn(known.values, name));
  if (missing.length > 0)
    throw new FleetError('USAGE', `no Config for exactly these sites gives ${missing.join(', ')}`, {
      hint: 'A value that another layer gives is removed there; one of the hub with --here',
    });
  if (known) {
    const values = [
      ...Object.entries(set).map(([name, value]) => [['spec', 'values', name], value] as const),
      ...unset.map((name) => [['spec', 'values', name], undefined] as const),
    ];
    return planChange(known.layer, { kind: 'Config', name: known.name, set: values });
  }
  const name = nameOf(siteSelector);
  const taken = findObject(layer, 'Config', name);
  return planNew(
    layer,
    newObject(layer.form, {
      kind: 'Config',
      name: taken ? `${name}-values` : name,
      selector: {},
      siteSelector,
      fixed: false,
      values: set,
    }),
  );
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

type FoundConfig = { readonly name: string; readonly values: Readonly<Record<string, unknown>> };

/** Documents by the bytes of their file: each of many edits looks through all files. */
const parsed = new WeakMap<Buffer, readonly unknown[]>();

const documentsIn = (bytes: Buffer): readonly unknown[] => {
  const documents =
    parsed.get(bytes) ?? parseAllDocuments(bytes.toString()).map((one): unknown => one.toJS());
  parsed.set(bytes, documents);
  return documents;
};

/** Configs of a layer with this selector of sites alone. */
const findConfig = (layer: Layer, siteSelector: SiteValuesEdit['siteSelector']): readonly FoundConfig[] => {
  const files = new Set(layer.objects.filter(({ kind }) => kind === 'Config').map(({ file }) => file));
  return layer.files
    .filter(({ path }) => files.has(path))
    .flatMap(({ bytes }) => documentsIn(bytes))
    .flatMap((object): FoundConfig[] => {
      if (!isRecord(object) || object['kind'] !== 'Config') return [];
      const { metadata, spec } = object as { readonly metadata?: unknown; readonly spec?: unknown };
      if (!isRecord(metadata) || !isRecord(spec) || spec['fixed'] === true) return [];
      if (Object.keys((spec['selector'] as object | undefined) ?? {}).length > 0) return [];
      const found = spec['siteSelector'] as Json | undefined;
      if (found === undefined || !isSameJson(found, siteSelector)) return [];
      const values = isRecord(spec['values']) ? spec['values'] : {};
      return [{ name: String(metadata['name']), values }];
    });
};
