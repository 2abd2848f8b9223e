import { plainLine } from '#bundles/errors';
/** Columns as wide as their widest cell, two spaces between them; numbers are the caller's to format. */
export const formatTable = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const all = [head, ...rows].map((row) => row.map(plainLine));
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** A table and the empty line after it; nothing where an empty table would say nothing. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [] : [formatTable(head, rows), ''];
