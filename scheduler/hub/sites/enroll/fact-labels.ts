import { RE2JS } from 're2js';
import { FleetError } from '#bundles/errors';
import type { HostFacts } from '#bundles/trust/root/host-facts';
import type { FactLabel } from '../../../settings/configuration.ts';
import type { Labels } from '../agent-record.ts';

/**
 * The labels that rules of the office make of a machine's facts. A fact is data of the machine: characters that a label does not take
 * become '-', and a fact that is absent, or that the pattern does not match as a whole, makes no label.
 */
export const labelsOfFacts = (rules: readonly FactLabel[], facts: HostFacts): Labels =>
  Object.fromEntries(
    rules.flatMap(({ label, fact, pattern }) => {
      const value = Object.hasOwn(facts, fact) ? (facts[fact] ?? '') : '';
      const chosen = toLabel(pattern === undefined ? value : (matchOf(pattern, value) ?? ''));
      return chosen === '' ? [] : [[label, chosen]];
    }),
  );

/** The first group of the pattern, or all of the match. RE2 takes linear time for any input. */
const matchOf = (pattern: string, value: string): string | undefined => {
  const matcher = compile(pattern).matcher(value);
  if (!matcher.matches()) return undefined;
  return (matcher.groupCount() > 0 ? matcher.group(1) : matcher.group()) ?? undefined;
};

/** @throws FleetError CONFIG_INVALID */
const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    throw new FleetError(
      'CONFIG_INVALID',
      `factLabels: ${JSON.stringify(pattern)} is not a regular expression`,
      {
        cause,
        hint: 'Write it in the syntax of RE2',
      },
    );
  }
};

const MAX_LABEL = 63;

const toLabel = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, MAX_LABEL)
    .replaceAll(/^[._-]+|[._-]+$/g, '');
