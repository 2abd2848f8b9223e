/**
 * Beginnings that spreadsheets take for a formula (OWASP, CSV Injection), also in full width and after spaces. Where a semicolon, a tab or an end of
 * line separates cells, a part of a text is a cell of its own.
 */
const FORMULA = /(^|[;\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A table as CSV (RFC 4180). What a spreadsheet would calculate begins with an apostrophe, and is text. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

const cellOf = (text: string): string => {
  const safe = text.replaceAll(FORMULA, "$1'$2");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
