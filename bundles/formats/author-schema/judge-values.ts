import type { AuthorCheck } from './compile-author-schema.ts';
import { compileSiteSchema } from './compile-site-schema.ts';
import type { BundleConfig } from '../bundle/config.ts';
import { isFleetError } from '../../errors.ts';

type Schema = BundleConfig['siteInputs']['schema'];
type Values = Readonly<Record<string, unknown>>;

/** Why one input cannot be used. `missing`: it is required and has no value. `unusable`: its schema cannot judge any value. */
export type InputFault = { readonly kind: 'missing' | 'wrong' | 'unusable'; readonly why: string };

/**
 * `wrong`: the first error that no single input causes, without a value. `faults`: the inputs whose value is missing or does not fit, and
 * those whose part of the schema is invalid or exceeds the step budget (MAX_STEPS in compile-author-schema.ts).
 */
export type Verdict = {
  readonly wrong?: string;
  readonly faults: ReadonlyMap<string, InputFault>;
};

const VALID: Verdict = { faults: new Map() };

/**
 * Validates the values of a site against the schema of a bundle. Parts of that schema come from tenants: when the whole does not accept the
 * values, each input is validated separately, so that an input of one tenant does not block the packages of another.
 * @param only limits the faults to these inputs
 */
export const judgeValues = (schema: Schema, values: Values, only?: ReadonlySet<string>): Verdict => {
  if (only?.size === 0) return VALID;
  const whole = judge(schema, values, 'bundle');
  if (whole === undefined) return VALID;
  const { properties, required } = schema as {
    readonly properties?: { readonly [name: string]: unknown };
    readonly required?: readonly string[];
  };
  const names = new Set([...Object.keys(properties ?? {}), ...(required ?? [])]);
  const faults = new Map<string, InputFault>();
  for (const name of only ?? names) {
    const isRequired = required?.includes(name) === true;
    const part = {
      ...schema,
      properties: properties && Object.hasOwn(properties, name) ? { [name]: properties[name] } : {},
      required: isRequired ? [name] : [],
    };
    const found = judge(part as Schema, values, 'input');
    if (found === undefined) continue;
    if (isRequired && !Object.hasOwn(values, name))
      faults.set(name, { kind: 'missing', why: `${name} is missing` });
    else if ('wrong' in found) faults.set(name, { kind: 'wrong', why: found.wrong });
    else faults.set(name, { kind: 'unusable', why: found.reason });
  }
  return only === undefined && faults.size === 0 && 'wrong' in whole
    ? { wrong: whole.wrong, faults }
    : { faults };
};

type Outcome = { readonly wrong: string } | { readonly reason: string } | undefined;

/** Cache of the last few schemas by their text: each cycle of the daemon validates by the same one for each package. */
const compiled = new Map<string, AuthorCheck | { readonly reason: string }>();
/** Verdicts that used up the budget, cached so that a cycle does not compute them again. */
const costly = new Map<string, { readonly reason: string }>();
const MAX_KEPT = 8;

const judge = (schema: Schema, values: Values, what: 'bundle' | 'input'): Outcome => {
  const text = JSON.stringify(schema);
  const check = compiled.get(text) ?? keep(compiled, text, compile(schema, what));
  if (typeof check !== 'function') return check;
  const key = `${text}\n${JSON.stringify(values)}`;
  const known = costly.get(key);
  if (known) return known;
  try {
    const [error] = check(values);
    if (!error) return undefined;
    const place = error.instancePath.slice(1);
    return { wrong: `${place === '' ? 'they' : place} ${error.message ?? 'do not fit'}` };
  } catch (error) {
    return keep(costly, key, { reason: reasonOf(error) });
  }
};

const compile = (schema: Schema, what: 'bundle' | 'input'): AuthorCheck | { readonly reason: string } => {
  try {
    return compileSiteSchema(schema, what);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
};

const reasonOf = (error: unknown): string =>
  isFleetError(error) ? error.message : 'it is not a JSON Schema';

const keep = <T>(map: Map<string, T>, key: string, value: T): T => {
  const [oldest] = map.keys();
  if (map.size === MAX_KEPT && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
  return value;
};
