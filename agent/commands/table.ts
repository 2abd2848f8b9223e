import { plainLine } from '#bundles/errors';
/** Rows as aligned columns, the header first; the last column is not padded. A column without a word in it is left out. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const [header = [], ...body] = rows.map((row) => row.map(plainLine));
  const used = header.flatMap((_, column) => (body.some((row) => row[column] !== '') ? [column] : []));
  const widths = used.map((column) =>
    Math.max(...[header, ...body].map((row) => (row[column] ?? '').length)),
  );
  return [header, ...body]
    .map((row) =>
      used
        .map((column, at) => (row[column] ?? '').padEnd(at === used.length - 1 ? 0 : (widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
