import { isRecord } from '../../is-record.ts';
import { ownValue } from '../../own-value.ts';
import type { BundleConfig } from '../bundle/config.ts';
import type { ComposedValues, SiteValues } from '../statements/predicates.ts';

/** Place of a value, lowest first: a higher one replaces the whole value. */
export type Origin = 'default' | 'layers' | 'site' | 'agent' | 'local' | 'fixed layers';

/** The values of one place. */
export type ValuesPlace = { readonly origin: Origin; readonly values: SiteValues['values'] };

type Of = {
  readonly agent: string;
  readonly assignment: string;
  /** Those that a person at the site set and that may be used. */
  readonly local?: SiteValues['values'] | undefined;
};

/** The values of each place for an assignment at an agent, lowest first, as agents resolve them. */
export const valuePlaces = (
  { siteInputs: { schema } }: Pick<BundleConfig, 'siteInputs'>,
  document: SiteValues,
  { agent, assignment, local = {} }: Of,
): readonly ValuesPlace[] => {
  const given = placedValues(document, agent, assignment);
  return [
    { origin: 'default', values: defaultsOf(schema) },
    { origin: 'layers', values: given.layers },
    { origin: 'site', values: given.site },
    { origin: 'agent', values: given.agent },
    { origin: 'local', values: local },
    { origin: 'fixed layers', values: given.fixed },
  ];
};

type PlacedValues = {
  readonly layers: SiteValues['values'];
  readonly site: SiteValues['values'];
  readonly agent: SiteValues['values'];
  readonly fixed: SiteValues['values'];
};

/**
 * The values that the document gives an agent, by their place.
 * @param assignment with the composed values of this assignment; undefined: only what all assignments get
 */
export const placedValues = (
  { values, agents, composed }: SiteValues,
  agent: string,
  assignment: string | undefined,
): PlacedValues => {
  const own = ownValue(composed ?? {}, agent);
  return {
    layers: layered(own, assignment),
    site: values,
    agent: ownValue(agents, agent) ?? {},
    fixed: layered(own?.fixed, assignment),
  };
};

const layered = (
  part: Pick<ComposedValues, 'values' | 'assignments'> | undefined,
  assignment: string | undefined,
): SiteValues['values'] => ({
  ...part?.values,
  ...(assignment !== undefined && ownValue(part?.assignments ?? {}, assignment)),
});

/** The values that a bundle's schema has for sites that give none. */
export const defaultsOf = ({ properties }: BundleConfig['siteInputs']['schema']): SiteValues['values'] =>
  Object.fromEntries(
    Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, part]) => {
      const value = isRecord(part) ? part['default'] : undefined;
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
