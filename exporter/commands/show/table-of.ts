import type { Printed } from '#cli/format-table';

/** A table and the empty line after it; nothing where an empty table would say nothing. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): readonly Printed[] =>
  rows.length === 0 ? [] : [{ head, rows }, ''];
