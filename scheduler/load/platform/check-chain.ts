import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import type { ObjectOf } from '../objects/platform-object.ts';

/**
 * Mistakes in `promotedFrom` of fleet.yaml: an environment that does not exist, the environment itself, and a cycle, which
 * is reported once, at its first environment in the file.
 */
export const chainMistakes = (fleet: ObjectOf<'Fleet'>): readonly FleetError[] => {
  const known = new Map(fleet.entries.map((entry) => [entry.name, entry]));
  const inCycle = new Set<string>();
  return fleet.entries.flatMap(({ name, promotedFrom }, index) => {
    if (promotedFrom === undefined) return [];
    const mistake = (
      code: 'REFERENCE_MISSING' | 'FIELD_INVALID',
      message: string,
      hint: string,
    ): readonly FleetError[] => [
      new FleetError(code, message, {
        subject: `Fleet ${fleet.name}`,
        at: fleet.entryPlaces[index]?.['promotedFrom'] ?? fleet.at,
        hint,
      }),
    ];
    if (!known.has(promotedFrom)) {
      const hint = `${didYouMean(promotedFrom, known.keys()) ?? ''}The fleet has ${[...known.keys()].join(', ')}`;
      return mistake(
        'REFERENCE_MISSING',
        `${name} is promoted from ${promotedFrom}, which is not an environment of the fleet`,
        hint,
      );
    }
    if (promotedFrom === name)
      return mistake('FIELD_INVALID', `${name} is promoted from itself`, 'Name the environment before it');
    const cycle = cycleAt(name, (one) => known.get(one)?.promotedFrom);
    if (!cycle || inCycle.has(name)) return [];
    for (const one of cycle) inCycle.add(one);
    return mistake(
      'FIELD_INVALID',
      [...cycle, name].join(' is promoted from '),
      'Remove promotedFrom of the first environment of the chain, which builds the newest state',
    );
  });
};

/** The environments of the cycle that `start` is part of; undefined if it is in none. */
const cycleAt = (
  start: string,
  before: (name: string) => string | undefined,
): readonly string[] | undefined => {
  const seen: string[] = [];
  for (let at: string | undefined = start; at !== undefined; at = before(at)) {
    if (at === start && seen.length > 0) return seen;
    if (seen.includes(at)) return undefined;
    seen.push(at);
  }
  return undefined;
};
