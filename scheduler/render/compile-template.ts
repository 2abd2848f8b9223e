import { FleetError } from '#bundles/errors';
import { compileGoTemplate } from './go/compile.ts';
import {
  type CompiledTemplate,
  DEFAULT_LIMITS,
  templateError,
  type TemplateLimits,
  type TemplateSource,
} from './template-source.ts';
import { parseHandlebars } from './handlebars/parse-handlebars.ts';
import { compileProgram } from './handlebars/statements.ts';
import { finish, startRun } from './run.ts';

/**
 * Compiles a Handlebars template. The handlebars package parses it (grammar, white space control). The tree is run by our
 * own closures instead of the package's generated code, so that a missing value fails with its place, work and output are
 * limited, prototypes are unreachable, and no code is generated from text. The output is not HTML, so nothing is escaped.
 * Helpers are the functions of Go templates, with the same argument order.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT, TEMPLATE_FAILED for a helper that templates may not call
 */
const compileHandlebars = (source: TemplateSource, limits: TemplateLimits): CompiledTemplate => {
  const { program, offsetOf } = parseHandlebars(source, limits.maxDepth);
  const render = compileProgram({ source, offsetOf, maxDepth: limits.maxDepth }, program);
  return (given, watch) => {
    const run = startRun(source, limits, given, watch);
    const { context } = run;
    render(run, { context, outer: undefined, turn: undefined, names: undefined, partials: undefined });
    return finish(run);
  };
};

export type { CompiledTemplate, TemplateLimits, TemplateSource } from './template-source.ts';
export { DEFAULT_LIMITS } from './template-source.ts';

const ENGINES = { go: compileGoTemplate, handlebars: compileHandlebars } as const;

/** A template is written by hand; a longer one is a mistake or an attack. In UTF-16 units. */
const MAX_TEMPLATE_LENGTH = 1024 * 1024;

/**
 * Compiles a template once, to render any number of contexts. Output that contains `{{` is never rendered again (unlike
 * Kalypso, behaviour spec 5, weaknesses 10 and 11).
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT, TEMPLATE_FAILED for a function that templates may not call
 */
export const compileTemplate = (
  source: TemplateSource,
  limits: TemplateLimits = DEFAULT_LIMITS,
): CompiledTemplate => {
  if (source.text.length > MAX_TEMPLATE_LENGTH)
    throw templateError(
      'TEMPLATE_LIMIT',
      source,
      0,
      `the template is longer than ${MAX_TEMPLATE_LENGTH} characters`,
    );
  return guarded(source, ENGINES[source.engine](source, limits));
};

/** The limits keep the stack small, so a RangeError while rendering is caused by the template. */
const guarded =
  (source: TemplateSource, render: CompiledTemplate): CompiledTemplate =>
  (context, watch) => {
    try {
      return render(context, watch);
    } catch (error) {
      if (error instanceof FleetError || !(error instanceof RangeError)) throw error;
      throw templateError('TEMPLATE_LIMIT', source, 0, `rendering outgrew its memory: ${error.message}`);
    }
  };
