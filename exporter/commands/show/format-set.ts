import { formatCount } from '#bundles/format-count';
import { shortSet } from '#bundles/formats/medium/parts/part';
import { formatBytes } from '#cli/format-bytes';
import type { Printed } from '#cli/format-table';
import type { SetPlan } from '../../plan/set/plan-set.ts';
import type { WrittenSet } from '../../write/write-set.ts';

/** Which part goes onto which volume, as a table for people. */
export const formatSet = ({ partSize, sealed, sticks }: SetPlan): readonly Printed[] => {
  const rows = sticks.flatMap(({ stick, at, parts }) =>
    parts.map(({ number, size, blobs }) => [
      String(number),
      String(stick),
      at ?? '-',
      formatBytes(size),
      String(blobs),
    ]),
  );
  const bytes = sticks.reduce((total, one) => total + one.bytes, 0);
  return [
    { head: ['PART', 'STICK', 'AT', 'BYTES', 'BLOBS OF ITS OWN'], rows },
    '',
    `${rows.length} ${sealed ? 'sealed ' : ''}${rows.length === 1 ? 'part' : 'parts'} of at most ${formatBytes(partSize)}, ${formatBytes(bytes)} on ${sticks.length} ${
      sticks.length === 1 ? 'stick' : 'sticks'
    }.`,
  ];
};

/** 'set 0123456789abcdef, 7 parts on 2 sticks' */
export const describeSet = ({
  set,
  sealed,
  count,
  sticks,
}: Pick<WrittenSet, 'set' | 'sealed' | 'count' | 'sticks'>): string => {
  const parts = `${count} ${sealed ? 'sealed ' : ''}${count === 1 ? 'part' : 'parts'}`;
  return `set ${shortSet(set)}, ${parts} on ${formatCount(sticks, 'stick')}`;
};

/** If the free space of the volumes decided the sizes: the flags with which one part can be made again without them. */
export const describeCut = ({
  partSize,
  stickSizes,
}: Pick<WrittenSet, 'partSize' | 'stickSizes'>): readonly string[] =>
  stickSizes.length === 0
    ? []
    : [
        `To make a part of it again: --part-size ${partSize} ${stickSizes.map((size) => `--stick-size ${size}`).join(' ')} --parts <numbers>`,
      ];

/** 'parts 1, 2 and 3', 'part 4'. */
export const formatNumbers = (numbers: readonly number[]): string => {
  const last = numbers.at(-1);
  if (numbers.length < 2) return `part ${last}`;
  const first = numbers[0] ?? 0;
  if (last === first + numbers.length - 1 && numbers.length > 2) return `parts ${first} to ${last}`;
  return `parts ${numbers.slice(0, -1).join(', ')} and ${last}`;
};
