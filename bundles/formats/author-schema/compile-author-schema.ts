import type { Ajv, AnySchema, ErrorObject, Format, Options } from 'ajv';
import { FleetError } from '../../errors.ts';
import { fromEcma } from '../../json/pattern/from-ecma.ts';
import { compileLinear, type LinearPattern } from '../../json/pattern/linear.ts';
import { PatternError } from '../../json/pattern/pattern-error.ts';
import { checkSize, type SizeLimits } from './check-size.ts';
import { compareContent } from './compare-content.ts';

/** Syntax of `pattern`: ECMA-262 (JSON Schema) or RE2 (Kalypso, Kubernetes). */
export type PatternSyntax = 'ecma' | 're2';

export type Engine = Pick<Ajv, 'compile' | 'validateSchema' | 'addFormat' | 'removeKeyword' | 'addKeyword'>;

export type AuthorSchemaOptions = {
  /**
   * Creates Ajv for the draft of the schema. Called once a schema: two schemas may have the same $id. The compiled meta-schema is
   * kept by this function's identity, so there is one function for each draft and set of options.
   */
  readonly engine: (options: Options) => Engine;
  readonly patterns: PatternSyntax;
  readonly limits: SizeLimits;
  /** Formats to validate. Without it, `format` is an annotation. */
  readonly formats?: Readonly<Record<string, Format>>;
  /** Further options of Ajv: strictness, and the details of errors. */
  readonly options: Options;
};

/**
 * Returns all errors of a value, empty when it is valid.
 * Throws FleetError SCHEMA_INVALID when validation takes more than MAX_STEPS steps.
 */
export type AuthorCheck = (value: unknown) => readonly ErrorObject[];

/**
 * Compiles a JSON Schema written by users, tenants included. Size and references are limited before compilation, patterns run in linear
 * time, and each validation has a budget of steps, so that the verdict on a schema and value is the same on every machine.
 * @throws FleetError SCHEMA_INVALID when the schema exceeds a limit, has an unsupported pattern, or refers to another document
 * @throws Error when it is not a valid schema
 */
export const compileAuthorSchema = (schema: unknown, given: AuthorSchemaOptions): AuthorCheck => {
  bounded(() => checkSize(schema, given.limits));
  if (given.options.validateSchema !== false) checkByMetaSchema(schema, given);
  const { ajv, meter } = newEngine({ ...given, options: { ...given.options, validateSchema: false } });
  const validate = bounded(() => ajv.compile(schema as AnySchema));
  return (value) => {
    meter.refill();
    return bounded(() => validate(value)) ? [] : (validate.errors ?? []);
  };
};

type MeteredEngine = { readonly ajv: Engine; readonly meter: Meter };

/** Engines that have compiled the meta-schema of their draft, which takes longer than a usual schema. They compile no other. */
const metaEngines = new WeakMap<AuthorSchemaOptions['engine'], MeteredEngine>();

/** Validates `schema` itself. @throws Error when it is not a valid schema of the draft */
const checkByMetaSchema = (schema: unknown, given: AuthorSchemaOptions): void => {
  if (typeof schema !== 'object' || schema === null) return;
  const { ajv, meter } = metaEngines.get(given.engine) ?? newEngine(given);
  metaEngines.set(given.engine, { ajv, meter });
  meter.refill();
  void bounded(() => ajv.validateSchema(schema, true));
};

const newEngine = ({ engine, patterns, formats, options }: AuthorSchemaOptions): MeteredEngine => {
  const meter = newMeter();
  const ajv = engine({
    ...options,
    logger: false,
    // Otherwise the code of each check is nested in the previous one, and compilation is quadratic in the size of the schema.
    allErrors: true,
    validateFormats: formats !== undefined,
    // Names of Object.prototype are not properties of a value.
    ownProperties: true,
    // In strict mode Ajv matches each pattern against the names of `properties` with a backtracking RegExp.
    allowMatchingProperties: true,
    // Each reference is then a function call, which counts as a step.
    inlineRefs: false,
    code: { regExp: patternEngine(patterns, meter), process: countSteps, optimize: false },
  });
  Object.assign(ajv, { spendSteps: meter.spend });
  compareContent(ajv, meter.spend);
  for (const [name, format] of Object.entries(formats ?? {})) ajv.addFormat(name, metered(format, meter));
  return { ajv, meter };
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

/** Steps of one error: all errors are collected, and a small schema can report many for a large value. */
const ERROR_STEPS = 50;

/**
 * Adds a step counter to each function, loop and error in the code that Ajv generates. Strings are skipped: a property name may look
 * like code. In that code `self` is the Ajv instance.
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

/** Steps that one step of the pattern matcher costs. */
const PATTERN_STEPS = 5;

const patternEngine = (syntax: PatternSyntax, meter: Meter) => {
  const compile = (pattern: string) => {
    const { test } = compilePattern(pattern, syntax);
    const spend = (steps: number): void => meter.spend(steps * PATTERN_STEPS);
    // Ajv identifies a pattern by its text: without toString all patterns of a schema would be the same one.
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
        hint: error.beyond
          ? 'Patterns run in linear time (RE2): write it without look-around, back references and large repetitions'
          : undefined,
      },
    );
  }
};

/** Formats are regular expressions of ajv-formats, quadratic at worst. */
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

/** Step counter of one compiled schema. */
type Meter = {
  /** @throws FleetError SCHEMA_INVALID when the budget is used up */
  readonly spend: (steps: number) => void;
  /** Restores the full budget, before the next validation. */
  readonly refill: () => void;
};

/**
 * Step budget of one validation: one step for each call, loop iteration and 512 bytes of their code, more for an error and for each
 * character that a pattern reads. Schemas in use take a few thousand for their largest values; the whole budget takes about a second.
 */
const MAX_STEPS = 5_000_000;

const newMeter = (): Meter => {
  let left = MAX_STEPS;
  return {
    spend: (steps) => {
      left -= steps;
      if (left < 0)
        throw new FleetError(
          'SCHEMA_INVALID',
          `judging this value takes more than ${MAX_STEPS} steps: its references multiply, or its patterns and lists are too large`,
        );
    },
    refill: () => {
      left = MAX_STEPS;
    },
  };
};
