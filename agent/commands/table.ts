/** Rows as aligned columns, the header first; the last column is not padded. A column without a word in it is left out. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const [header = [], ...body] = rows;
  const used = header.flatMap((_, column) => (body.some((row) => row[column] !== '') ? [column] : []));
  const widths = used.map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      used
        .map((column, at) => (row[column] ?? '').padEnd(at === used.length - 1 ? 0 : (widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
