import type { CompiledTemplate, TemplateLimits, TemplateSource } from './template-source.ts';
export const compileHandlebars = (_source: TemplateSource, _limits: TemplateLimits): CompiledTemplate => {
  throw new Error('x');
};
