/** Beginnings that spreadsheets take for a formula (OWASP, CSV Injection). */
const FORMULA = /^[=+\-@\t\r]/;

/** A table as CSV (RFC 4180). A cell that a spreadsheet would calculate begins with an apostrophe, and is text. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

const cellOf = (text: string): string => {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
