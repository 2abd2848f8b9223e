import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import type { TemplateContext } from '../model/template-context.ts';
import type { Watch } from './watch-context.ts';

export type TemplateSource = {
  readonly engine: 'go' | 'handlebars';
  /** Name of the Template object, for errors: `Template <name>`. */
  readonly name: string;
  readonly text: string;
  /** Place of line 1 column 1 of `text` in the YAML file. */
  readonly at: Place;
  /** Columns before every later line of `text` in the file: the indentation of a block scalar. Default 0. */
  readonly indent?: number;
};

/**
 * Renders one context; `watch` records which fields the result depends on.
 * @throws FleetError TEMPLATE_FAILED, TEMPLATE_LIMIT
 */
export type CompiledTemplate = (context: TemplateContext, watch?: Watch) => string;

/** Limits for one compilation or one render. */
export type TemplateLimits = {
  /** UTF-8 bytes of the result, and of any intermediate string. */
  readonly maxOutputBytes: number;
  /** Nodes run, loop iterations, values visited, and units of 64 characters of text processed. */
  readonly maxSteps: number;
  /** Nesting depth of template calls, blocks, parentheses and values. */
  readonly maxDepth: number;
};

export const DEFAULT_LIMITS: TemplateLimits = {
  maxOutputBytes: 4 * 1024 * 1024,
  maxSteps: 1_000_000,
  maxDepth: 100,
};

/** Converts a position in the text (from 1) to a place in the YAML file; only the file if the text has no known line. */
const placeInFile = (source: TemplateSource, line: number, column: number): Place => {
  const { file, line: firstLine, column: firstColumn = 1 } = source.at;
  if (firstLine === undefined) return { file };
  return line === 1
    ? { file, line: firstLine, column: firstColumn + column - 1 }
    : { file, line: firstLine + line - 1, column: column + (source.indent ?? 0) };
};

/** Line and column (from 1) of a UTF-16 offset in the text. */
const lineAndColumn = (text: string, offset: number): readonly [line: number, column: number] => {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  return [line, offset - start + 1];
};

/** An error at an offset of a template's text, with the place in the author's file. */
export const templateError = (
  code: Extract<ErrorCode, `TEMPLATE_${string}`>,
  source: TemplateSource,
  offset: number,
  message: string,
  hint?: string,
): FleetError => {
  const [line, column] = lineAndColumn(source.text, offset);
  const where = source.at.line === undefined ? ` (line ${line}, column ${column} of the template)` : '';
  return new FleetError(code, message + where, {
    subject: `Template ${source.name}`,
    at: placeInFile(source, line, column),
    hint,
  });
};
