import { parseHandlebars } from './handlebars/parse-handlebars.ts';
import { compileProgram } from './handlebars/statements.ts';
import { finish, startRun } from './run.ts';
import type { CompiledTemplate, TemplateLimits, TemplateSource } from './template-source.ts';

/**
 * Compiles a Handlebars template. The parser (grammar, white space control) is the handlebars package's; the tree is run
 * by closures of our own instead of the package's generated code, so that a missing value fails with its place, work and
 * output are bounded, no prototype is ever reached, and no code is made from text. Nothing is escaped, as the output
 * is no HTML. Helpers are the functions of the Go templates, with the same order of arguments.
 * @throws FleetError TEMPLATE_SYNTAX; TEMPLATE_FAILED for a helper templates may not call; TEMPLATE_LIMIT
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
