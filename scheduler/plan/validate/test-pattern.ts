import { FleetError } from '#bundles/errors';
import { compileLinear, type LinearPattern } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';

const compiled = new Map<string, LinearPattern>();
const MAX_COMPILED = 1000;

/** Step budget of one pattern on one text: about a second. */
const MAX_STEPS = 10_000_000;

/**
 * Whether a `pattern` of a CustomResourceDefinition matches the text. Like the API server, it reads the pattern as RE2.
 * @throws FleetError SCHEMA_INVALID when the pattern is unusable, or the text takes too many steps
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
