import { type RawBuilder, sql } from 'kysely';

/** For `doUpdateSet` of an INSERT whose row exists: these columns get the values of the new row. */
export const overwrite = (columns: readonly string[]): { readonly [column: string]: RawBuilder<unknown> } =>
  Object.fromEntries(columns.map((column) => [column, sql.ref(`excluded.${column}`)]));
