import { defined } from '../../defined.ts';
import { isSameJson } from '../../json/is-same-json.ts';
import { ownValue } from '../../own-value.ts';
import type { ComposedValues, SiteValues } from '../statements/predicates.ts';

type Values = SiteValues['values'];
type Part = Pick<ComposedValues, 'values' | 'assignments'>;

/** Names of values that differ between two compositions of an agent, in any of their parts, sorted. */
export const differingNames = (
  a: ComposedValues | undefined,
  b: ComposedValues | undefined,
): readonly string[] => {
  const found = new Set<string>();
  const compare = (one: Values = {}, other: Values = {}): void => {
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)]))
      if (!isSameJson(ownValue(one, name), ownValue(other, name))) found.add(name);
  };
  const compareParts = (one: Part | undefined, other: Part | undefined): void => {
    compare(one?.values, other?.values);
    const ids = new Set([...Object.keys(one?.assignments ?? {}), ...Object.keys(other?.assignments ?? {})]);
    for (const id of ids) compare(one?.assignments?.[id], other?.assignments?.[id]);
  };
  compareParts(a, b);
  compareParts(a?.fixed, b?.fixed);
  return [...found].toSorted();
};

/** A composition with the values of these names only; undefined: it has none of them. */
export const onlyNames = (
  composed: ComposedValues | undefined,
  names: ReadonlySet<string>,
): ComposedValues | undefined => keepNames(undefined, composed, names);

/** A composition in which values of these names are those of another one, also where that has none. */
export const keepNames = (
  composed: ComposedValues | undefined,
  kept: ComposedValues | undefined,
  names: ReadonlySet<string>,
): ComposedValues | undefined => {
  const below = mix(composed, kept, names);
  const fixed = mix(composed?.fixed, kept?.fixed, names);
  return below || fixed ? { ...(below ?? { values: {} }), ...defined({ fixed }) } : undefined;
};

const mix = (own: Part | undefined, kept: Part | undefined, names: ReadonlySet<string>): Part | undefined => {
  const values = mixValues(own?.values, kept?.values, names);
  const ids = [...new Set([...Object.keys(own?.assignments ?? {}), ...Object.keys(kept?.assignments ?? {})])];
  const assignments = ids.toSorted().flatMap((id) => {
    const one = mixValues(own?.assignments?.[id], kept?.assignments?.[id], names);
    return Object.keys(one).length === 0 ? [] : [[id, one] as const];
  });
  if (Object.keys(values).length === 0 && assignments.length === 0) return undefined;
  return {
    values,
    ...defined({ assignments: assignments.length > 0 ? Object.fromEntries(assignments) : undefined }),
  };
};

const mixValues = (own: Values = {}, kept: Values = {}, names: ReadonlySet<string>): Values =>
  Object.fromEntries([
    ...Object.entries(own).filter(([name]) => !names.has(name)),
    ...Object.entries(kept).filter(([name]) => names.has(name)),
  ]);
