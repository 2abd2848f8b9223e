import { createContext, Script } from 'node:vm';
import { FleetError } from '#bundles/errors';
import { compileRegexp, findMatch, type Regexp } from '../render/go/regexp/regexp.ts';
import { RegexpError } from '../render/go/regexp/syntax.ts';

/** Long enough for any honest pattern, short enough to be waited for. */
const PATIENCE_MS = 250;

const compiled = new Map<string, Regexp | RegExp>();
const MAX_COMPILED = 1000;

/**
 * Does a schema's `pattern` occur in the text? Patterns come from strangers: they run in time that grows with the text
 * and no faster; only one that looks around or back, which that engine does not have, runs against the clock.
 * @throws FleetError SCHEMA_INVALID when it is no pattern, or takes too long
 */
export const testPattern = (pattern: string, text: string): boolean => {
  const known = compiled.get(pattern) ?? compile(pattern);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(pattern, known);
  return known instanceof RegExp
    ? runWithin(known, text)
    : findMatch(known, text, 0, () => undefined) !== undefined;
};

/** @throws FleetError SCHEMA_INVALID */
export const compilePattern = (pattern: string): void => {
  compiled.set(pattern, compiled.get(pattern) ?? compile(pattern));
};

const compile = (pattern: string): Regexp | RegExp => {
  try {
    return compileRegexp(pattern);
  } catch (error) {
    if (!(error instanceof RegexpError)) throw error;
  }
  try {
    return new RegExp(pattern, 'u');
  } catch (cause) {
    throw new FleetError('SCHEMA_INVALID', `${JSON.stringify(pattern)} is no pattern`, { cause });
  }
};

const SCRIPT = new Script('pattern.test(text)');

const runWithin = (pattern: RegExp, text: string): boolean => {
  try {
    return SCRIPT.runInContext(createContext({ pattern, text }), { timeout: PATIENCE_MS }) as boolean;
  } catch (cause) {
    throw new FleetError(
      'SCHEMA_INVALID',
      `the pattern ${JSON.stringify(pattern.source.slice(0, 80))} takes more than ${PATIENCE_MS} ms on a text of ${text.length} characters`,
      { cause, hint: 'Write it without look-around and back references: then it takes no time' },
    );
  }
};
