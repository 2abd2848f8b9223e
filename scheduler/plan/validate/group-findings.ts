import { FleetError, formatError, formatPlace } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { MissingPlace, MissingValue } from './missing-values.ts';

/** One mistake, as found in one environment. */
export type Found = {
  readonly error: FleetError;
  readonly environment: string;
  /** The assignment that it holds; `error.subject` may be its name. */
  readonly assignment?: string;
  /** Called once in each environment for all assignments with the same mistake. */
  readonly missing?: () => readonly MissingValue[];
};

/** One mistake, with everything it affects. */
export type Finding = {
  readonly error: FleetError;
  readonly environments: readonly string[];
  readonly assignments: readonly string[];
  readonly missing: readonly MissingAnywhere[];
};

/** A value that is missing in one or more environments, each with layers of its own. */
export type MissingAnywhere = Omit<MissingValue, 'layers'> & {
  readonly layers: readonly (MissingPlace & { readonly environments: readonly string[] })[];
};

/** Groups equal mistakes: one in base/ is found in every environment, one in a template in every assignment. */
export const groupFindings = (found: readonly Found[]): readonly Finding[] => {
  const groups = Map.groupBy(found, ({ error, assignment }) =>
    // Mistakes that differ only in the assignment are equal.
    formatError(error.subject === assignment ? withSubject(error, undefined) : error),
  );
  return [...groups.values()].map((all) => {
    const [first] = all as [Found, ...Found[]];
    const assignments = [...new Set(all.flatMap(({ assignment }) => assignment ?? []))];
    const named = first.error.subject === first.assignment && first.assignment !== undefined;
    return {
      error: named ? withSubject(first.error, nameSome(assignments, NAMES)) : first.error,
      environments: [...new Set(all.map(({ environment }) => environment))],
      assignments,
      missing: missingIn(all),
    };
  });
};

const missingIn = (all: readonly Found[]): readonly MissingAnywhere[] => {
  const firsts = [...new Map(all.toReversed().map((one) => [one.environment, one])).values()].toReversed();
  const found = firsts.flatMap(({ environment, missing }) =>
    (missing?.() ?? []).map((value) => ({ environment, value })),
  );
  const byName = Map.groupBy(found, ({ value }) => JSON.stringify([value.schema, value.name]));
  return [...byName.values()].map((same) => {
    const [{ value }] = same as [(typeof same)[number], ...typeof same];
    const layers = same.flatMap(({ environment, value: { layers: own } }) =>
      own.map((layer) => ({ layer, environment })),
    );
    const byPlace = Map.groupBy(layers, ({ layer }) => formatPlace(layer.at));
    return {
      ...value,
      layers: [...byPlace.values()].map((copies) => {
        const [{ layer }] = copies as [(typeof copies)[number], ...typeof copies];
        return { ...layer, environments: copies.map(({ environment }) => environment) };
      }),
      elsewhere: [
        ...new Map(
          same.flatMap(({ value: one }) => one.elsewhere).map((one) => [one.environment, one]),
        ).values(),
      ],
    };
  });
};

const NAMES = 3;

const withSubject = (
  { code, message, at, hint, cause }: FleetError,
  subject: string | undefined,
): FleetError => new FleetError(code, message, { subject, at, hint, cause });

/**
 * Formats a finding as lines of text. @param all number of environments that were checked; a finding in all of them does not
 * list them
 */
export const formatFinding = (finding: Finding, all: number): readonly string[] => [
  `${formatError(finding.error)}${finding.environments.length < all ? ` [${finding.environments.join(', ')}]` : ''}`,
  ...finding.missing.flatMap((missing) => formatMissing(missing, finding.environments.length)),
];

/** @param all number of environments that lack it; a layer of all of them does not list them */
const formatMissing = (
  { name, type, description, layers, elsewhere }: MissingAnywhere,
  all: number,
): readonly string[] => {
  const about = [type, description].filter((one) => one !== undefined).join(': ');
  return [
    ...(about === '' ? [] : [`  ${name}: ${about}`]),
    ...layers.map(
      ({ name: layer, from, at, selector, environments }) =>
        `  it could stand in ${layer} (${from}), ${labelsText(selector)}: ${formatPlace(at)}${environments.length < all ? ` [${environments.join(', ')}]` : ''}`,
    ),
    ...elsewhere.map(
      ({ environment, value, at }) =>
        `  ${environment} has ${value === undefined ? '*** (writeOnly)' : JSON.stringify(value)}: ${formatPlace(at)}`,
    ),
  ];
};

const labelsText = (labels: Readonly<Record<string, string>>): string => {
  const entries = Object.entries(labels);
  return entries.length === 0
    ? 'for everything'
    : `for ${entries.map(([key, value]) => `${key}=${value}`).join(', ')}`;
};
