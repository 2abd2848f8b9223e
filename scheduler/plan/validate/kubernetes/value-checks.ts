import type { Node } from 'yaml';
import { isRecord } from '#bundles/is-record';
import type { Value } from '../../../model/model.ts';
import { testPattern } from '../test-pattern.ts';
import { wrongScalar } from './scalar-checks.ts';
import type { Scalar } from './type-expression.ts';
import { type Check, isList, isMapping, report, scalarOf, shown } from './walk.ts';

/** A schema of a CustomResourceDefinition, or a part of one. */
export type Schema = { readonly [key: string]: Value };

export const asSchema = (value: Value | undefined): Schema => (isRecord(value) ? value : {});

/** Scalar types by their names in a schema. */
export const SCALARS: Readonly<Record<string, Scalar>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'int64',
  number: 'number',
};

export const scalarCheck =
  (type: Scalar): Check =>
  (node, path, walk, owner) => {
    const value = scalarOf(node);
    const wanted = value === undefined ? 'one value' : wrongScalar(type, value);
    if (wanted !== undefined) report(walk, node, owner, path, `must be ${wanted}, not ${shown(node, walk)}`);
  };

/** Checks of the keywords that limit a value. Each applies only to values of its own type. */
export const limitChecks = (schema: Schema): readonly Check[] => {
  const checks: Check[] = [];
  const add = (test: (node: Node | null) => string | undefined): void => {
    checks.push((node, path, walk, owner) => {
      const wrong = test(node);
      if (wrong !== undefined) report(walk, node, owner, path, `${wrong}, not ${shown(node, walk)}`);
    });
  };
  const numberOf = (name: string): number | undefined =>
    typeof schema[name] === 'number' ? schema[name] : undefined;
  const { pattern } = schema;
  const words = Array.isArray(schema.enum) ? (schema.enum as readonly Value[]) : undefined;
  if (words) {
    add((node) => {
      const value = scalarOf(node);
      const plain = typeof value === 'bigint' ? Number(value) : value;
      return value === undefined || words.includes(plain as Value)
        ? undefined
        : `must be ${words.map((word) => JSON.stringify(word)).join(', ')}`;
    });
  }
  if (typeof pattern === 'string') {
    add((node) => {
      const value = scalarOf(node);
      return typeof value !== 'string' || testPattern(pattern, value) ? undefined : `must match ${pattern}`;
    });
  }
  const minimum = numberOf('minimum');
  const maximum = numberOf('maximum');
  if (minimum !== undefined || maximum !== undefined) {
    const low = minimum ?? -Infinity;
    const high = maximum ?? Infinity;
    const above =
      schema.exclusiveMinimum === true ? (value: number) => value > low : (value: number) => value >= low;
    const below =
      schema.exclusiveMaximum === true ? (value: number) => value < high : (value: number) => value <= high;
    add((node) => {
      const value = scalarOf(node);
      if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
      if (!above(Number(value))) return `must be at least ${low}`;
      return below(Number(value)) ? undefined : `must be at most ${high}`;
    });
  }
  const step = numberOf('multipleOf');
  if (step !== undefined && step > 0) {
    add((node) => {
      const value = scalarOf(node);
      if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
      return isMultiple(value, step) ? undefined : `must be a multiple of ${step}`;
    });
  }
  for (const [least, most, size, unit] of [
    ['minLength', 'maxLength', (node: Node | null) => textLength(node), 'characters'],
    ['minItems', 'maxItems', (node: Node | null) => (isList(node) ? node.items.length : undefined), 'items'],
    [
      'minProperties',
      'maxProperties',
      (node: Node | null) => (isMapping(node) ? node.items.length : undefined),
      'fields',
    ],
  ] as const) {
    const [low, high] = [numberOf(least), numberOf(most)];
    if (low === undefined && high === undefined) continue;
    add((node) => {
      const count = size(node);
      if (count === undefined) return undefined;
      if (count < (low ?? 0)) return `must have at least ${low} ${unit}`;
      return count > (high ?? Infinity) ? `must have at most ${high} ${unit}` : undefined;
    });
  }
  return checks;
};

/** Relative error that the API server allows a quotient. */
const EPSILON = 1e-9;

/**
 * Divides as the API server does (MultipleOf of kube-openapi): integers exactly, fractions as doubles with a small error. Older
 * servers truncate the quotient and refuse 1.13 by 0.01; this follows the newer ones, which round it.
 */
const isMultiple = (value: number | bigint, step: number): boolean => {
  if (Number.isInteger(step) && Number.isInteger(Number(value))) return BigInt(value) % BigInt(step) === 0n;
  const times = step < 1 ? (1 / step) * Number(value) : Number(value) / step;
  const whole = Math.round(times);
  return times === whole || Math.abs(times - whole) < EPSILON * Math.abs(whole);
};

const textLength = (node: Node | null): number | undefined => {
  const value = scalarOf(node);
  return typeof value === 'string' ? Array.from(value).length : undefined;
};
