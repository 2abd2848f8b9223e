import Handlebars from 'handlebars';
import { type TemplateSource, templateError } from '../template-source.ts';

export type Program = hbs.AST.Program;

/** Where Handlebars says a node is: lines from 1, columns from 0. */
type Spot = { readonly loc?: hbs.AST.SourceLocation | null };

export type Parsed = {
  readonly program: Program;
  /** The UTF-16 offset of a node in the template. */
  readonly offsetOf: (node: Spot) => number;
};

/** Offsets at which the lines start, counted as Handlebars' lexer counts them. */
const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
};

/**
 * Handlebars tells the place of a syntax error only in its message: the line, and up to twenty characters before the
 * mistake with a caret below.
 */
const offsetFromMessage = (message: string, text: string, starts: readonly number[]): number => {
  const [head = '', shown = '', caret = ''] = message.split('\n');
  const line = Number(/ on line (\d+)/.exec(head)?.[1] ?? 1);
  const start = starts[line - 1] ?? 0;
  const before = shown.slice(0, caret.indexOf('^')).replace(/^\.\.\./, '');
  for (let end = start; end <= text.length; end += 1) {
    const past = text.slice(Math.max(0, end - 2 * before.length - 8), end).replaceAll('\n', '');
    if (past.endsWith(before) && (before !== '' || end === start)) return end;
  }
  return start;
};

const NAMES: Readonly<Record<string, string>> = {
  EOF: 'the end of the template',
  CLOSE: '}}',
  CLOSE_SEXPR: ')',
  OPEN_ENDBLOCK: '{{/',
  INVERSE: '{{else}}',
  INVALID: 'something unreadable',
};

/** The part of the message that people can use: what was met, and whether an end is missing. */
const explain = (message: string): string => {
  const got = /got '(\w+)'$/.exec(message)?.[1];
  if (got === undefined) return message.split('\n')[0] ?? message;
  if (got === 'EOF') return 'a block or an action is never closed';
  return `unexpected ${NAMES[got] ?? got.toLowerCase().replaceAll('_', ' ')}`;
};

type Located = { readonly lineNumber?: unknown; readonly column?: unknown };

/** @throws FleetError TEMPLATE_SYNTAX; TEMPLATE_LIMIT when blocks nest so deep that Handlebars gives up */
export const parseHandlebars = (source: TemplateSource): Parsed => {
  const { text } = source;
  const starts = lineStarts(text);
  const offset = (line: number, column: number): number => (starts[line - 1] ?? 0) + column;
  try {
    const program = Handlebars.parse(text);
    return {
      program,
      offsetOf: ({ loc }) => (loc ? offset(loc.start.line, loc.start.column) : 0),
    };
  } catch (error) {
    if (error instanceof RangeError)
      throw templateError('TEMPLATE_LIMIT', source, 0, 'the template nests too deep');
    const message = error instanceof Error ? error.message : String(error);
    const { lineNumber, column } = error as Located;
    if (typeof lineNumber === 'number' && typeof column === 'number')
      throw templateError(
        'TEMPLATE_SYNTAX',
        source,
        offset(lineNumber, column),
        message.replace(/ - \d+:\d+$/, ''),
      );
    throw templateError(
      'TEMPLATE_SYNTAX',
      source,
      offsetFromMessage(message, text, starts),
      explain(message),
    );
  }
};
