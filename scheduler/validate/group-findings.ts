import { FleetError, formatError, formatPlace } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { MissingValue } from './missing-values.ts';

/** One mistake of one environment, as it was found. */
export type Found = {
  readonly error: FleetError;
  readonly environment: string;
  /** The assignment it holds; then `error.subject` may name it. */
  readonly assignment?: string;
  /** Asked once for all that have the same mistake. */
  readonly missing?: () => readonly MissingValue[];
};

/** One mistake, once, with all it concerns. */
export type Finding = {
  readonly error: FleetError;
  readonly environments: readonly string[];
  readonly assignments: readonly string[];
  readonly missing: readonly MissingValue[];
};

/** What is wrong in base/ is found in every environment, and a template's mistake in every assignment: told once each. */
export const groupFindings = (found: readonly Found[]): readonly Finding[] => {
  const groups = Map.groupBy(found, ({ error, assignment }) =>
    // What differs only in the assignment is one mistake.
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
      missing: first.missing?.() ?? [],
    };
  });
};

const NAMES = 3;

const withSubject = (
  { code, message, at, hint, cause }: FleetError,
  subject: string | undefined,
): FleetError =>
  new FleetError(code, message, { ...(subject !== undefined && { subject }), at, hint, cause });

/**
 * A finding as lines for people.
 * @param all how many environments were looked at: what concerns all of them need not say so
 */
export const formatFinding = (finding: Finding, all: number): readonly string[] => [
  `${formatError(finding.error)}${finding.environments.length < all ? ` [${finding.environments.join(', ')}]` : ''}`,
  ...finding.missing.flatMap(formatMissing),
];

const formatMissing = ({ name, type, description, layers, elsewhere }: MissingValue): readonly string[] => {
  const about = [type, description].filter((one) => one !== undefined).join(': ');
  return [
    ...(about === '' ? [] : [`  ${name}: ${about}`]),
    ...layers.map(
      ({ name: layer, from, at, selector }) =>
        `  it could stand in ${layer} (${from}), ${labelsText(selector)}: ${formatPlace(at)}`,
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
