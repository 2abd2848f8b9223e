/** Rows or names of one statement: SQLite binds 32,766 values at most, PostgreSQL 65,535. */
export const PART = 500;

/** Splits a list into parts for one statement each. */
export function* parts<T>(all: readonly T[], most = PART): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += most) yield all.slice(start, start + most);
}
