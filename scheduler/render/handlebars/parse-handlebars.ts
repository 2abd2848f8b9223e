import Handlebars from 'handlebars';
import { type TemplateSource, templateError } from '../template-source.ts';

export type Program = hbs.AST.Program;

/** Location of a node in Handlebars' tree: lines from 1, columns from 0. */
type Spot = { readonly loc?: hbs.AST.SourceLocation | null };

export type Parsed = {
  readonly program: Program;
  /** UTF-16 offset of a node in the template. */
  readonly offsetOf: (node: Spot) => number;
};

/** Offsets of line starts, with the line ends of Handlebars' lexer. */
const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
};

/**
 * The offset of a syntax error. Handlebars gives it only in the message: the line number, and up to twenty characters before
 * the mistake with a caret below.
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
  OPEN: '{{, is there a }} missing before it?',
  OPEN_BLOCK: '{{#, is there a }} missing before it?',
  OPEN_UNESCAPED: '{{{, is there a }} missing before it?',
  CLOSE: '}}',
  CLOSE_SEXPR: ')',
  OPEN_ENDBLOCK: '{{/',
  INVERSE: '{{else}}',
  OPEN_INVERSE: '{{^',
  OPEN_INVERSE_CHAIN: '{{else',
  OPEN_PARTIAL: '{{>',
  OPEN_PARTIAL_BLOCK: '{{#>',
  CLOSE_UNESCAPED: '}}}: where a } follows an action, put a space between them',
  OPEN_SEXPR: '(',
  ID: 'name',
  STRING: 'text in quotes',
  EQUALS: '=',
  DATA: '@',
  SEP: '. or /',
  INVALID: 'character: is the action before it closed with }}?',
};

/** The useful part of the message: the unexpected token, or that an end is missing. */
const explain = (message: string): string => {
  const got = /got '(\w+)'$/.exec(message)?.[1];
  if (got === undefined) return message.split('\n')[0] ?? message;
  if (got === 'EOF') return 'a block or an action is never closed';
  return `unexpected ${NAMES[got] ?? got.toLowerCase().replaceAll('_', ' ')}`;
};

const NESTING = /\{\{~?\{{0,2}~?(?:(#|\^\s*[^\s~}])|(\/)|\s*(else)\s+[^\s~}])|([()])|\}\}/g;

/**
 * Checks the nesting of blocks, else chains and parentheses before parsing, because the parser's time is quadratic in it.
 * Text that only looks like a block (in a comment) counts too, which is harmless at these depths.
 * @throws FleetError TEMPLATE_LIMIT
 */
const checkNesting = (source: TemplateSource, maxDepth: number): void => {
  // One entry for each open block: the block and its chained elses.
  const blocks: number[] = [];
  let depth = 0;
  let parentheses = 0;
  for (const { 1: open, 2: close, 3: chain, 4: parenthesis, index } of source.text.matchAll(NESTING)) {
    if (open !== undefined) {
      blocks.push(1);
      depth += 1;
    } else if (close !== undefined) {
      depth -= blocks.pop() ?? 0;
    } else if (chain !== undefined && blocks.length > 0) {
      blocks.push((blocks.pop() ?? 0) + 1);
      depth += 1;
    }
    parentheses = parenthesis === undefined ? 0 : parentheses + (parenthesis === '(' ? 1 : -1);
    if (depth > maxDepth || parentheses > maxDepth)
      throw templateError('TEMPLATE_LIMIT', source, index, `the template nests deeper than ${maxDepth}`);
  }
};

type Located = { readonly lineNumber?: unknown; readonly column?: unknown };

/** @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT when it nests deeper than maxDepth */
export const parseHandlebars = (source: TemplateSource, maxDepth: number): Parsed => {
  checkNesting(source, maxDepth);
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
