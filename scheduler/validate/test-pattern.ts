import { FleetError } from '#bundles/errors';
import { compileLinear, type LinearPattern } from '#bundles/pattern/linear';
import { PatternError } from '#bundles/pattern/pattern-error';

const compiled = new Map<string, LinearPattern>();
const MAX_COMPILED = 1000;

/** Steps of one pattern on one text, about a second. */
const MAX_STEPS = 10_000_000;

/**
 * Does a `pattern` of a CustomResourceDefinition occur in the text? The API server reads it as RE2.
 * @throws FleetError SCHEMA_INVALID when the pattern cannot be used, or the text is too long for it
 */
export const testPattern = (pattern: string, text: string): boolean => {
  const known = compiled.get(pattern) ?? compile(pattern);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(pattern, known);
  let left = MAX_STEPS;
  return known.test(text, (steps) => {
    left -= steps;
    if (left < 0)
      throw invalid(pattern, `takes more than ${MAX_STEPS} steps on a text of ${text.length} characters`);
  });
};

const compile = (pattern: string): LinearPattern => {
  try {
    return compileLinear(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw invalid(pattern, `cannot be used: it ${error.message}`, error);
  }
};

const invalid = (pattern: string, why: string, cause?: unknown): FleetError =>
  new FleetError('SCHEMA_INVALID', `the pattern ${JSON.stringify(pattern.slice(0, 80))} ${why}`, { cause });
