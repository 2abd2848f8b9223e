import { type RawBuilder, sql } from 'kysely';

type Cell = string | number | null;

/**
 * A list of rows for a common table expression, `with asked(agent, life) as (...)`, in SQL that SQLite and PostgreSQL share. One
 * statement then asks for many agents. Every cell has its type, because PostgreSQL takes a bare parameter for text. Join it as
 * `from asked cross join <table> where ...`: SQLite keeps that order and looks each row up in an index, where it reads the whole table for
 * `asked join <table> on ...`.
 */
export const valuesTable = (
  types: readonly ('text' | 'bigint')[],
  rows: readonly (readonly Cell[])[],
): RawBuilder<unknown> => {
  const row = (cells: readonly Cell[]) =>
    sql`(${sql.join(cells.map((cell, at) => sql`cast(${cell} as ${sql.raw(types[at] ?? 'text')})`))})`;
  return sql`values ${sql.join(rows.map(row))}`;
};
