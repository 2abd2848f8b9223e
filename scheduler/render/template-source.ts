import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import type { TemplateContext } from './template-context.ts';
import type { Watch } from './watch-context.ts';

export type TemplateSource = {
  readonly engine: 'go' | 'handlebars';
  /** Name of the Template object; errors say `Template <name>`. */
  readonly name: string;
  readonly text: string;
  /** Where line 1 column 1 of `text` stands in the YAML file. */
  readonly at: Place;
  /** Columns that stand before every further line of `text` in the file: a block scalar's indentation. Default 0. */
  readonly indent?: number;
};

/** Renders one context, and tells `watch` what of it the result depends on. @throws FleetError TEMPLATE_FAILED, TEMPLATE_LIMIT */
export type CompiledTemplate = (context: TemplateContext, watch?: Watch) => string;

/** What one render, and one compilation, may use. */
export type TemplateLimits = {
  /** UTF-8 bytes of the result, and of any string on the way to it. */
  readonly maxOutputBytes: number;
  /** Nodes run, loop turns, values visited and 64-byte pieces of text handled. */
  readonly maxSteps: number;
  /** How deep templates call each other, blocks and parentheses nest, and values are. */
  readonly maxDepth: number;
};

export const DEFAULT_LIMITS: TemplateLimits = {
  maxOutputBytes: 4 * 1024 * 1024,
  maxSteps: 1_000_000,
  maxDepth: 100,
};

/** The place in the YAML file of a place in the text (both count from 1), or only the file where that is unknown. */
const placeInFile = (source: TemplateSource, line: number, column: number): Place => {
  const { file, line: firstLine, column: firstColumn = 1 } = source.at;
  if (firstLine === undefined) return { file };
  return line === 1
    ? { file, line: firstLine, column: firstColumn + column - 1 }
    : { file, line: firstLine + line - 1, column: column + (source.indent ?? 0) };
};

/** Line and column, from 1, of a UTF-16 offset in the text. */
const lineAndColumn = (text: string, offset: number): readonly [line: number, column: number] => {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  return [line, offset - start + 1];
};

/** The error of a template at an offset of its text, with the place in the user's file. */
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
    ...(hint === undefined ? {} : { hint }),
  });
};
