import { FleetError } from '#bundles/errors';
import { compileGoTemplate } from './go/compile.ts';
import { compileHandlebars } from './handlebars.ts';
import {
  type CompiledTemplate,
  DEFAULT_LIMITS,
  type TemplateLimits,
  type TemplateSource,
  templateError,
} from './template-source.ts';

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
