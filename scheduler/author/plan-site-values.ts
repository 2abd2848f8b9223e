import { parseAllDocuments } from 'yaml';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { isRecord } from '#bundles/is-record';
import { FleetError } from '#bundles/errors';
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
 * Plans values of sites as a Config of the platform: in the one that has exactly this `siteSelector` and no other terms, or in a new one, of the
 * environment's own layer where it has a folder.
 * @throws FleetError USAGE for a value to remove that no Config gives; NAME_CLASH, NAME_INVALID, FIELD_INVALID
 */
export const planSiteValues = (
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

/** Configs of a layer with this selector of sites alone. */
const findConfig = (layer: Layer, siteSelector: SiteValuesEdit['siteSelector']): readonly FoundConfig[] => {
  const files = new Set(layer.objects.filter(({ kind }) => kind === 'Config').map(({ file }) => file));
  return layer.files
    .filter(({ path }) => files.has(path))
    .flatMap(({ bytes }) => parseAllDocuments(bytes.toString()))
    .flatMap((document): FoundConfig[] => {
      const object: unknown = document.toJS();
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
