import type { Ajv, AnySchema, ErrorObject, Format, Options } from 'ajv';
import { FleetError } from '#bundles/errors';
import { fromEcma } from '../pattern/from-ecma.ts';
import { compileLinear, type LinearPattern } from '../pattern/linear.ts';
import { PatternError } from '../pattern/pattern-error.ts';
import { checkSize, type SizeLimits } from './check-size.ts';
import { compareContent } from './compare-content.ts';
import { type Meter, newMeter } from './meter.ts';

/** How `pattern` is read: as ECMA-262 (JSON Schema), or as RE2 (Kalypso, Kubernetes). */
export type PatternSyntax = 'ecma' | 're2';

export type Engine = Pick<Ajv, 'compile' | 'addFormat' | 'removeKeyword' | 'addKeyword'>;

export type AuthorSchemaOptions = {
  /** Makes Ajv of the schema's draft. A new one for each schema: two schemas may have the same $id. */
  readonly engine: (options: Options) => Engine;
  readonly patterns: PatternSyntax;
  readonly limits: SizeLimits;
  /** Formats that are judged; without any, `format` is an annotation. */
  readonly formats?: Readonly<Record<string, Format>>;
  /** Ajv's own: strictness, and what is noted of an error. */
  readonly options: Options;
};

/**
 * Everything that is wrong with a value; nothing when it is right.
 * @throws (the function) FleetError SCHEMA_INVALID where judging it takes more than MAX_STEPS steps
 */
export type AuthorCheck = (value: unknown) => readonly ErrorObject[];

/**
 * Compiles a JSON Schema that people wrote, a tenant's too. Its size and its references are bounded before it is compiled, its patterns
 * run in linear time, and each judgement has a budget of steps, so that the same schema and value are judged alike on every machine.
 * @throws FleetError SCHEMA_INVALID when it is over a bound, has a pattern that cannot be used, or refers to something outside of itself
 * @throws Error when it is no schema
 */
export const compileAuthorSchema = (
  schema: unknown,
  { engine, patterns, limits, formats, options }: AuthorSchemaOptions,
): AuthorCheck => {
  bounded(() => checkSize(schema, limits));
  const meter = newMeter();
  const ajv = engine({
    ...options,
    logger: false,
    // Without it each check is nested in the one before, and compiling takes time quadratic in the schema.
    allErrors: true,
    validateFormats: formats !== undefined,
    // A name of Object's prototype is not in every value.
    ownProperties: true,
    // In strict mode Ajv would run each pattern over the names of `properties`, as a RegExp that backtracks.
    allowMatchingProperties: true,
    // Every reference is a call, and every call is counted.
    inlineRefs: false,
    code: { regExp: patternEngine(patterns, meter), process: countSteps, optimize: false },
  });
  Object.assign(ajv, { spendSteps: meter.spend });
  compareContent(ajv, meter.spend);
  for (const [name, format] of Object.entries(formats ?? {})) ajv.addFormat(name, metered(format, meter));
  const validate = bounded(() => ajv.compile(schema as AnySchema));
  return (value) => {
    meter.refill();
    return bounded(() => validate(value)) ? [] : (validate.errors ?? []);
  };
};

const bounded = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError)
      throw invalid('it nests too deep, or refers to itself without end', error);
    const ref = error instanceof Error && 'missingRef' in error ? String(error.missingRef) : undefined;
    if (ref === undefined) throw error;
    throw invalid(
      `it refers to ${ref}, which is not in it, and nothing is fetched: write that schema into it`,
      error,
    );
  }
};

const invalid = (why: string, cause: unknown): FleetError => new FleetError('SCHEMA_INVALID', why, { cause });

/** Steps of one error: with all errors collected, a small schema finds many in a large value. */
const ERROR_STEPS = 50;

/**
 * Puts a count into every function, loop and error that Ajv writes. Strings are skipped: a property's name may look like code. Ajv
 * gives the function itself as `self`.
 */
const countSteps = (code: string): string => {
  const turn = `self.spendSteps(${1 + (code.length >> 9)});`;
  return code.replaceAll(
    /"(?:[^"\\]|\\.)*"|function validate\d+\(data, \{.*?\}=\{\}\)\{|for\([^(){}"]*\)\{|errors\+\+;/g,
    (part) => {
      if (part.startsWith('"')) return part;
      return part === 'errors++;' ? `${part}self.spendSteps(${ERROR_STEPS});` : part + turn;
    },
  );
};

/** What one step of a pattern counts for. */
const PATTERN_STEPS = 5;

const patternEngine = (syntax: PatternSyntax, meter: Meter) => {
  const compile = (pattern: string) => {
    const { test } = compilePattern(pattern, syntax);
    const spend = (steps: number): void => meter.spend(steps * PATTERN_STEPS);
    // Ajv takes the text for the pattern's identity: without it all patterns of a schema would be one.
    return { test: (text: string) => test(text, spend), toString: () => JSON.stringify(pattern) };
  };
  return Object.assign(compile, { code: 'compilePattern' });
};

/** Compiles a `pattern` of a schema. @throws FleetError SCHEMA_INVALID when it cannot be used */
export const compilePattern = (pattern: string, syntax: PatternSyntax): LinearPattern => {
  try {
    return compileLinear(syntax === 'ecma' ? fromEcma(pattern) : pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new FleetError(
      'SCHEMA_INVALID',
      `the pattern ${JSON.stringify(pattern.slice(0, 80))} cannot be used: it ${error.message}`,
      {
        cause: error,
        ...(error.beyond && {
          hint: 'Patterns run in linear time (RE2): write it without look-around, back references and large repetitions',
        }),
      },
    );
  }
};

/** Formats are regular expressions of a library, quadratic at worst. */
const metered = (format: Format, meter: Meter): Format => {
  if (format === true || typeof format === 'string') return format;
  if ('type' in format && format.type === 'number') return format;
  const judge = testOf(format);
  if (judge === undefined) return format;
  return (text: string) => {
    meter.spend(5 + (text.length * text.length) / 200);
    return judge(text);
  };
};

const testOf = (format: Exclude<Format, true | string>): ((text: string) => boolean) | undefined => {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return format;
  const { validate } = format as { readonly validate?: unknown };
  if (validate instanceof RegExp) return (text) => validate.test(text);
  return typeof validate === 'function' ? (validate as (text: string) => boolean) : undefined;
};
