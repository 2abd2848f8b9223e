import stringWidth from 'string-width';
import { plainLine } from '#bundles/errors';

/** The cells of a row, or a text that spans all columns. */
export type Row = readonly string[] | string;

/** Columns with two spaces between them. A column without a word in a row is left out. */
export type Table = {
  readonly head?: readonly string[];
  readonly rows: readonly Row[];
  /** Spaces before each line. */
  readonly indent?: number;
  /** Further spaces before the second and later lines of a spanning text [default: 4]. */
  readonly hang?: number;
  /** Smallest widths of the first columns, so that rows printed one at a time are aligned. */
  readonly min?: readonly number[];
};

/** A line, which is broken at spaces where it is too long, or a table. */
export type Printed = string | Table;

/** An indented line. */
export const paragraph = (text: string, indent = 0): Table => ({ rows: [text], indent });

/** @param width of the terminal in columns; undefined: not limited, each row is one line */
export const formatLines = (printed: readonly Printed[], width: number | undefined): readonly string[] =>
  printed.flatMap((one) => formatTable(typeof one === 'string' ? { rows: [one] } : one, width));

/**
 * The lines of a table. Rows that are too long are broken, never cut: first a cell continues below itself, and columns for which no room
 * is left follow on lines of their own, indented, under a heading that is broken in the same way.
 * @param width as for formatLines
 */
export const formatTable = (table: Table, width: number | undefined): readonly string[] => {
  const { head, indent = 0, hang = HANG, min = [] } = table;
  const rows = table.rows.map((row) => (typeof row === 'string' ? plainLine(row) : row.map(plainLine)));
  const cells = rows.filter((row) => typeof row !== 'string');
  const room = width === undefined ? undefined : Math.max(MIN_ROOM, width - indent);
  const all = [...(head ? [head] : []), ...cells];
  const count = all.reduce((most, row) => Math.max(most, row.length), 0);
  const columns = Array.from({ length: count }, (_, at) => at)
    .filter((at) => cells.some((row) => (row[at] ?? '') !== ''))
    .map((at) => {
      const texts = all.map((row) => row[at] ?? '');
      return { at, cells: texts, natural: Math.max(min[at] ?? 0, longestOf(texts)) };
    });
  const layout = layOut(columns, room);
  const margin = ' '.repeat(indent);
  return [...(head && cells.length > 0 ? [head] : []), ...rows]
    .flatMap((row) => (typeof row === 'string' ? spanningLines(row, hang, room) : rowLines(row, layout)))
    .map((line) => `${margin}${line}`.trimEnd());
};

const GAP = '  ';
const HANG = 4;
/** Columns of text that are kept where the terminal is narrower than any answer. */
const MIN_ROOM = 20;
/** Width below which no cell is made narrower if its text is longer. */
const MIN_CELL = 24;

type Column = {
  readonly at: number;
  readonly cells: readonly string[];
  /** Width without a break. */
  readonly natural: number;
};

/** Smallest width of a column on a line with others: that of its longest piece, and of short cells as they are. */
const leastOf = ({ cells, natural }: Column): number =>
  Math.max(Math.min(natural, MIN_CELL), longestOf(cells.flatMap((cell) => cell.split(' ').flatMap(pieces))));

/** A short word is one piece; a longer one may be broken after punctuation. */
const pieces = (word: string): readonly string[] =>
  word.length <= MIN_CELL ? [word] : word.split(AFTER_PUNCTUATION);

const longestOf = (texts: readonly string[]): number =>
  texts.reduce((longest, text) => Math.max(longest, widthOf(text)), 0);

const AFTER_PUNCTUATION = /(?<=[-/:,;=@._])/;

type Measured = Column & { readonly least: number };

type Placed = { readonly at: number; readonly width: number };

/** The lines of a row: each column with its width, as many on a line as have room. */
const layOut = (columns: readonly Column[], room: number | undefined): readonly (readonly Placed[])[] => {
  if (room === undefined || sum(columns.map(({ natural }) => natural)) <= room)
    return [columns.map(({ at, natural }) => ({ at, width: natural }))];
  const lines: Measured[][] = [];
  for (const column of columns.map((one) => ({ ...one, least: leastOf(one) }))) {
    const line = lines.at(-1);
    const taken = line === undefined ? 0 : sum([...line, column].map(({ least }) => least));
    if (line === undefined || taken > room - (lines.length === 1 ? 0 : HANG)) lines.push([column]);
    else line.push(column);
  }
  return lines.map((line, at) => share(line, room - (at === 0 ? 0 : HANG)));
};

/** Room of a line for its columns: each gets what it needs, and the long ones are limited to the same width. */
const share = (line: readonly Measured[], room: number): readonly Placed[] => {
  const limited = (limit: number): readonly Placed[] =>
    line.map(({ at, natural, least }) => ({ at, width: Math.min(natural, Math.max(least, limit), room) }));
  let limit = room;
  while (limit > 0 && sum(limited(limit).map(({ width }) => width)) > room) limit -= 1;
  return limited(limit);
};

const sum = (widths: readonly number[]): number =>
  widths.reduce((total, width) => total + width, GAP.length * Math.max(0, widths.length - 1));

const rowLines = (row: readonly string[], layout: readonly (readonly Placed[])[]): readonly string[] =>
  layout.flatMap((line, index) => {
    const cells = line.map(({ at, width }) => wrap(row[at] ?? '', width));
    const margin = index === 0 ? '' : ' '.repeat(HANG);
    const height = Math.max(...cells.map(({ length }) => length));
    const lines = Array.from({ length: height }, (_, at) =>
      line.map(({ width }, column) => pad(cells[column]?.[at] ?? '', width)).join(GAP),
    );
    return lines.filter((text) => index === 0 || text.trim() !== '').map((text) => `${margin}${text}`);
  });

const spanningLines = (text: string, hang: number, room: number | undefined): readonly string[] => {
  if (room === undefined || widthOf(text) <= room) return [text];
  const at = breakAt(text, room);
  const rest = text.slice(at).trimStart();
  const margin = ' '.repeat(hang);
  return [
    text.slice(0, at),
    ...wrap(rest, Math.max(MIN_ROOM, room - hang)).map((line) => `${margin}${line}`),
  ];
};

const wrap = (text: string, width: number): readonly string[] => {
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > width) {
    const at = breakAt(rest, width);
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return [...lines, rest];
};

/** Where a text that is wider than `width` is broken: at a space, else after punctuation, else where the room ends. */
const breakAt = (text: string, width: number): number => {
  const fitting = fittingLength(text, width);
  const space = text.lastIndexOf(' ', fitting);
  if (space > 0 && text.slice(0, space).trim() !== '') return space;
  const piece = text.slice(0, fitting).split(AFTER_PUNCTUATION).slice(0, -1).join('').length;
  return piece > 0 ? piece : fitting;
};

/** UTF-16 units of the longest start of a text that has room, at least one character. */
const fittingLength = (text: string, width: number): number => {
  let [length, used] = [0, 0];
  for (const character of text) {
    used += widthOf(character);
    if (used > width && length > 0) return length;
    length += character.length;
  }
  return length;
};

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Columns on a terminal: East Asian characters have two. */
const widthOf = (text: string): number => (ASCII.test(text) ? text.length : stringWidth(text));

const ASCII = /^[\x20-\x7e]*$/;
