import { FleetError } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';

/** A part of an answer: at most `limit` entries after those that `cursor` ends with. */
export type Page = { readonly limit: number; readonly cursor?: string | undefined };

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;

/** @throws FleetError USAGE */
export const parseLimit = (text: string | undefined): number => {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new FleetError('USAGE', `the limit ${JSON.stringify(text.slice(0, 20))} is not 1 to ${MAX_LIMIT}`);
};

type Key = readonly (string | number)[];
type Widened<T extends Key> = { readonly [I in keyof T]: T[I] extends string ? string : number };

/** The place of an entry in the order of an answer, as text for the next request. */
export const encodeCursor = (key: Key): string => Buffer.from(JSON.stringify(key)).toString('base64url');

/** @param like an entry's key, for the types of its parts @throws FleetError USAGE */
export const decodeCursor = <T extends Key>(cursor: string, like: T): Widened<T> => {
  const key = parseKey(cursor);
  const fits =
    Array.isArray(key) &&
    key.length === like.length &&
    key.every((part, index) => typeof part === typeof like[index]);
  if (fits) return key as unknown as Widened<T>;
  throw new FleetError('USAGE', 'the cursor is not from an answer to this question', {
    hint: 'Ask without a cursor for the first page',
  });
};

const parseKey = (cursor: string): unknown => {
  try {
    return parseJson(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
};

/** Splits off rows beyond the page. @param rows at most `limit + 1` */
export const cutPage = <T>(
  rows: readonly T[],
  limit: number,
  keyOf: (row: T) => Key,
): { readonly rows: readonly T[]; readonly next: string | null } => {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null };
};
