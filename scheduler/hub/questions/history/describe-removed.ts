import type { Timestamp } from '#bundles/time';
import { paragraph, type Printed } from '#cli/format-table';
import type { Database } from '../../store/tables.ts';

type RemovedText = { readonly lines: readonly Printed[]; readonly json: object };

/**
 * Says so in an answer about times from which retention removed facts.
 * @param times that the question is about; '' is the beginning
 */
export const describeRemoved = async (
  db: Database,
  { lines, json }: RemovedText,
  times: readonly (Timestamp | undefined)[],
): Promise<RemovedText> => {
  const { removed_until: until } = await db
    .selectFrom('fleet')
    .select('removed_until')
    .executeTakeFirstOrThrow();
  if (until === null || !times.some((time) => time !== undefined && time < until)) return { lines, json };
  const words = `The hub removed facts received before ${until} (retention): of that time this answer has only what was left.`;
  return { lines: [...lines, '', paragraph(words)], json: { ...json, removedUntil: until } };
};

/** Only the last page of an answer without a beginning reaches it. */
export const beginning = (next: string | null): Timestamp | undefined => (next === null ? '' : undefined);
