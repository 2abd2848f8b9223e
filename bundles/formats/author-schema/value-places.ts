import { isRecord } from '../../is-record.ts';
import type { Json } from '../../json/canonical.ts';
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
  { values, agents, composed }: SiteValues,
  { agent, assignment, local = {} }: Of,
): readonly ValuesPlace[] => {
  const own = composed && Object.hasOwn(composed, agent) ? composed[agent] : undefined;
  const layered = (part: Pick<ComposedValues, 'values' | 'assignments'> | undefined) => ({
    ...part?.values,
    ...(part?.assignments && Object.hasOwn(part.assignments, assignment) && part.assignments[assignment]),
  });
  return [
    { origin: 'default', values: defaultsOf(schema['properties']) },
    { origin: 'layers', values: layered(own) },
    { origin: 'site', values },
    { origin: 'agent', values: Object.hasOwn(agents, agent) ? (agents[agent] ?? {}) : {} },
    { origin: 'local', values: local },
    { origin: 'fixed layers', values: layered(own?.fixed) },
  ];
};

const defaultsOf = (properties: unknown): SiteValues['values'] =>
  Object.fromEntries(
    Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, part]) => {
      const value = isRecord(part) ? (part['default'] as Json | undefined) : undefined;
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
