import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { FleetError, type Place, toFleetError } from '#bundles/errors';

export type CsvRow = { readonly line: number; readonly cells: readonly string[] };

/**
 * The text of a CSV file.
 * @throws FleetError FIELD_INVALID if it is not UTF-8, as some spreadsheets save it by default; SOURCE_MISSING, USAGE, PERMISSION, IO
 */
export const readCsvFile = async (file: string): Promise<string> => {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw new FleetError('SOURCE_MISSING', `there is no file ${file}`, { cause: error });
    throw toFleetError(error, `reading ${file}`);
  });
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new FleetError('FIELD_INVALID', 'this is not text in UTF-8', {
    at: { file },
    hint: 'Save it as "CSV UTF-8": in another encoding letters like ä would become other letters',
  });
};

/**
 * Reads CSV (RFC 4180), with commas or, as some spreadsheets write them, semicolons between fields. Empty lines are left out; a quoted
 * field may have line breaks. The header decides the separator.
 * @throws FleetError FIELD_INVALID with the line, for a quote that does not end or stands in the middle of a field
 */
export const readCsv = (text: string, file: string): readonly CsvRow[] => {
  const input = text.replace(/^\uFEFF/, '');
  const separator = /^[^\n",;]*;/.test(input) ? ';' : ',';
  const field = new RegExp(
    `"((?:[^"]|"")*)"[ \\t]*(?=[${separator}\\r\\n]|$)|([^"${separator}\\r\\n]*)`,
    'y',
  );
  const rows: CsvRow[] = [];
  let [at, line] = [0, 1];
  while (at < input.length) {
    const [cells, first]: [string[], number] = [[], line];
    for (;;) {
      field.lastIndex = at;
      const [all = '', quoted, plain = ''] = field.exec(input) ?? [];
      at += all.length;
      if (input[at] === '"')
        throw new FleetError('FIELD_INVALID', 'a quote does not end, or is in the middle of a field', {
          at: { file, line, column: 1 },
          hint: 'Put the whole field into quotes, and write a quote in it twice',
        });
      cells.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
      line += all.split('\n').length - 1;
      if (input[at] !== separator) break;
      at += 1;
    }
    if (input[at] === '\r') at += 1;
    if (input[at] === '\n') at += 1;
    line += 1;
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: first, cells });
  }
  return rows;
};

/** CSV with commas and a line end after each row. */
export const formatCsv = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `${cells.map(quote).join(',')}\n`).join('');

const quote = (cell: string): string =>
  /^\s|\s$|[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** Runs `read`, and puts the line of the file into its errors. An option of a command that is wrong in a file is FIELD_INVALID. */
export const atLine = <T>(at: Place, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw new FleetError(error.code === 'USAGE' ? 'FIELD_INVALID' : error.code, error.message, {
      at,
      hint: error.hint,
      cause: error,
    });
  }
};
