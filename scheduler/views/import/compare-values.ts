import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import { createComposer } from '../../plan/compose/compose-config.ts';
import { entriesOf, isList, isMapping } from '../../model/plain-value.ts';
import type { ConfigLayer, ConfigValue, Platform, Value } from '../../model/model.ts';
import { WholeFloat } from '../../model/go/number.ts';
import type { Schedule } from '../../plan/schedule/schedule-platform.ts';

/** A configuration value that differs, with its origin; undefined if absent. */
export type ValueDifference = {
  readonly key: string;
  readonly before: { readonly value: Value; readonly at: Place } | undefined;
  readonly after: { readonly value: Value; readonly at: Place } | undefined;
  /** True for values that are equal in JSON but not in YAML 1.1: keys that are not text, `5.0`, integers beyond 2^53. */
  readonly typesOnly?: true;
  /** `<cluster type>/<deployment target>`, in byte order. */
  readonly assignments: readonly string[];
};

type Side = { readonly platform: Platform; readonly schedule: Schedule };

/** Explains differences of rendered files: compares the composed values of each common assignment by key. */
export const compareValues = (before: Side, after: Side): readonly ValueDifference[] => {
  const composeBefore = createComposer(before.platform);
  const composeAfter = createComposer(after.platform);
  const others = new Map(after.schedule.assignments.map((one) => [nameOf(one), one]));
  const found = new Map<string, ValueDifference & { assignments: string[] }>();
  for (const assignment of before.schedule.assignments) {
    const name = nameOf(assignment);
    const other = others.get(name);
    if (!other) continue;
    const old = composeBefore(assignment.clusterType, assignment.target);
    const now = composeAfter(other.clusterType, other.target);
    for (const key of new Set([...Object.keys(old.plain), ...Object.keys(now.plain)])) {
      const difference = {
        key,
        before: effectiveValues(old.plain[key], old.layers, key),
        after: effectiveValues(now.plain[key], now.layers, key),
      };
      const typesOnly = JSON.stringify(difference.before?.value) === JSON.stringify(difference.after?.value);
      if (typesOnly && typedText(old.values[key]) === typedText(now.values[key])) continue;
      const same = JSON.stringify(difference);
      const known = found.get(same) ?? {
        ...difference,
        ...defined({ typesOnly: typesOnly || undefined }),
        assignments: [],
      };
      known.assignments.push(name);
      found.set(same, known);
    }
  }
  return [...found.values()].toSorted(
    (a, b) => compareBytes(a.key, b.key) || compareBytes(a.assignments[0] ?? '', b.assignments[0] ?? ''),
  );
};

/** The last layer that sets a key decides its value, or is the last one merged into it. */
const effectiveValues = (
  value: Value | undefined,
  layers: readonly ConfigLayer[],
  key: string,
): { readonly value: Value; readonly at: Place } | undefined => {
  if (value === undefined) return undefined;
  const layer = layers.findLast((one) => Object.hasOwn(one.values, key));
  return { value, at: layer?.places[key] ?? layer?.at ?? { file: '?' } };
};

/**
 * Text of a value including types of YAML 1.1 that JSON lacks, which templates print differently: `true: 8` is not `"true": 8`.
 */
const typedText = (value: ConfigValue | undefined): string => {
  if (value === undefined) return '';
  if (isList(value)) return `[${value.map(typedText).join()}]`;
  if (isMapping(value))
    return `{${entriesOf(value)
      .map(([key, item]) => `${typedText(key)}:${typedText(item)}`)
      .toSorted(compareBytes)
      .join()}}`;
  if (value instanceof WholeFloat) return `float ${value.value}`;
  return typeof value === 'bigint' ? `int ${value}` : JSON.stringify(value);
};

const nameOf = (assignment: Schedule['assignments'][number]): string =>
  `${assignment.clusterType.name}/${assignment.target.name}`;
