import { isRecord } from '#bundles/is-record';

/** Characters of an answer at most. */
export const MAX_CHARACTERS = 60_000;
const MAX_TEXT = 2_000;

/**
 * Reads an answer of at most MAX_CHARACTERS. A longer one is read again with half the rows, so that its cursor continues where it ends; an
 * answer of one row is shortened.
 */
export const boundAnswer = async (
  read: (limit: number) => Promise<object>,
  limit: number,
): Promise<object> => {
  for (let rows = limit; ; rows = Math.max(1, Math.floor(rows / 2))) {
    const answer = await read(rows);
    if (JSON.stringify(answer).length <= MAX_CHARACTERS) return answer;
    if (rows === 1) return shorten(answer);
  }
};

/** Lists are cut at their end and texts at 2,000 characters, with the count of what is left out. */
const shorten = (answer: object): object => {
  for (let entries = 100; entries >= 1; entries = Math.floor(entries / 2)) {
    const short = cut(answer, entries) as object;
    if (JSON.stringify(short).length <= MAX_CHARACTERS) return { ...short, shortened: true };
  }
  return { shortened: true, message: 'The answer is too long. Ask about one site, agent or assignment.' };
};

const cut = (value: unknown, entries: number): unknown => {
  if (typeof value === 'string')
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}... (${value.length} characters)` : value;
  if (Array.isArray(value)) {
    const kept = value.slice(0, entries).map((one) => cut(one, entries));
    return value.length > entries ? [...kept, `... and ${value.length - entries} more`] : kept;
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, entries)]));
};
