import { FleetError } from '#bundles/errors';
import type { MediumParts, OpenMedium } from '#bundles/formats/medium/medium';
import { shortSet } from '#bundles/formats/medium/parts/part';

/**
 * The error after the import of one of several volumes: which parts are still needed, and why.
 * @param missing numbers of parts that are absent or could not be opened @param damage error of a part that could be opened
 */
export const partsMissing = (
  { roots }: Pick<OpenMedium, 'roots'>,
  { set, count, damaged }: Pick<MediumParts, 'set' | 'count' | 'damaged'>,
  missing: readonly number[],
  damage: FleetError | undefined,
): FleetError => {
  const numbers = [...new Set(missing)].toSorted((a, b) => a - b);
  const unreadable = damaged.filter(({ number }) => numbers.includes(number));
  const away = numbers.filter((number) => !unreadable.some((one) => one.number === number));
  const faults = [...(damage ? [damage] : []), ...unreadable.map(({ error }) => error)];
  const sentences = [
    ...faults.map(({ message }) => message),
    ...(away.length > 0
      ? [`${partList(away)} of ${count} ${away.length === 1 ? 'is' : 'are'} not here`]
      : []),
    `what ${faults.length > 0 ? 'else ' : ''}was on ${roots.length > 1 ? 'these sticks' : 'this stick'} is kept`,
  ];
  return new FleetError(damage?.code ?? 'PARTS_MISSING', sentences.join('; '), {
    subject: `set ${shortSet(set)}`,
    hint: hintFor(faults.length, away.length),
    cause: faults[0],
  });
};

const hintFor = (faults: number, away: number): string => {
  if (faults === 0) return 'Put in the next stick and import it';
  const again =
    faults === 1
      ? 'Have this one part sent again and import it'
      : 'Have these parts sent again and import them';
  return away === 0 ? again : `${again}, and the next stick`;
};

/** 'part 3', 'parts 3 and 4', 'parts 1, 2 and 4'. Lists all of them, so that operators can find the right volume. */
export const partList = (numbers: readonly number[]): string => {
  const last = numbers.at(-1);
  if (numbers.length < 2) return `part ${last ?? '?'}`;
  return `parts ${numbers.slice(0, -1).join(', ')} and ${last}`;
};
