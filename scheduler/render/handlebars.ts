import { parseHandlebars } from './handlebars/parse-handlebars.ts';
import { compileProgram } from './handlebars/statements.ts';
import { finish, startRun } from './run.ts';
import type { CompiledTemplate, TemplateLimits, TemplateSource } from './template-source.ts';

/**
 * Compiles a Handlebars template. The handlebars package parses it (grammar, white space control). The tree is run by our
 * own closures instead of the package's generated code, so that a missing value fails with its place, work and output are
 * limited, prototypes are unreachable, and no code is generated from text. The output is not HTML, so nothing is escaped.
 * Helpers are the functions of Go templates, with the same argument order.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT, TEMPLATE_FAILED for a helper that templates may not call
 */
export const compileHandlebars = (source: TemplateSource, limits: TemplateLimits): CompiledTemplate => {
  const { program, offsetOf } = parseHandlebars(source, limits.maxDepth);
  const render = compileProgram({ source, offsetOf, maxDepth: limits.maxDepth }, program);
  return (given, watch) => {
    const run = startRun(source, limits, given, watch);
    const { context } = run;
    render(run, { context, outer: undefined, turn: undefined, names: undefined, partials: undefined });
    return finish(run);
  };
};
