import type { Node } from 'yaml';
import type { Value } from '../../platform/model.ts';
import { testPattern } from '../test-pattern.ts';
import { nearestName } from '../../platform/nearest-name.ts';
import { wrongScalar } from './scalar-checks.ts';
import type { Scalar } from './type-expression.ts';
import {
  type Check,
  childPath,
  isList,
  isMapping,
  pairsOf,
  report,
  scalarOf,
  shown,
  valueOf,
  type Walk,
} from './walk.ts';

type Schema = { readonly [key: string]: Value };

const asSchema = (value: Value | undefined): Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};

/**
 * A check of the structural schema of a CustomResourceDefinition (openAPIV3Schema, apiextensions.k8s.io/v1): types,
 * unknown fields, required ones, words, limits and patterns. Rules in CEL and defaults are the cluster's.
 */
export const compileCustomSchema = (schema: Value | undefined, kind: string): Check => {
  if (schema === undefined) return () => undefined;
  const root = asSchema(schema);
  // These are Kubernetes' own, whatever the schema says of them.
  const properties = { ...asSchema(root.properties), apiVersion: true, kind: true, metadata: true };
  return compile({ ...root, type: 'object', properties: { ...properties, status: true } }, kind);
};

const compile = (schema: Schema, kind: string): Check => {
  const type = typeCheck(schema, kind);
  const more = [...limitChecks(schema), ...combinations(schema, kind)];
  return (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) return;
    const before = walk.found.length;
    type(found, path, walk, owner);
    if (walk.found.length === before) for (const check of more) check(found, path, walk, owner);
  };
};

const SCALARS: Readonly<Record<string, Scalar>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'int64',
  number: 'number',
};

const typeCheck = (schema: Schema, kind: string): Check => {
  if (schema['x-kubernetes-int-or-string'] === true) return scalar('int-or-string');
  const kindOfValue = typeof schema.type === 'string' ? schema.type : '';
  switch (kindOfValue) {
    case 'object':
      return objectCheck(schema, kind);
    case 'array': {
      const item = compile(asSchema(schema.items), kind);
      const nullable = asSchema(schema.items).nullable === true;
      return (node, path, walk, owner) => {
        if (!isList(node)) return report(walk, node, owner, path, `must be a list, not ${shown(node, walk)}`);
        for (const [at, one] of node.items.entries()) {
          const inside = `${path}[${at}]`;
          if (!nullable && valueOf(one as Node | null, walk) === null)
            report(walk, one as Node | null, node, inside, 'must not be null');
          else item(one as Node | null, inside, walk, node);
        }
      };
    }
    default: {
      const name = SCALARS[kindOfValue];
      return name ? scalar(name) : () => undefined;
    }
  }
};

const scalar =
  (type: Scalar): Check =>
  (node, path, walk, owner) => {
    const value = scalarOf(node);
    const wanted = value === undefined ? 'one value' : wrongScalar(type, value);
    if (wanted !== undefined) report(walk, node, owner, path, `must be ${wanted}, not ${shown(node, walk)}`);
  };

const objectCheck = (schema: Schema, kind: string): Check => {
  const fields = new Map(
    Object.entries(asSchema(schema.properties)).map(([name, one]) => [
      name,
      one === true ? (): void => undefined : compile(asSchema(one), kind),
    ]),
  );
  const rest =
    typeof schema.additionalProperties === 'object'
      ? compile(asSchema(schema.additionalProperties), kind)
      : undefined;
  const free =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const required = (Array.isArray(schema.required) ? schema.required : []).filter(
    (name): name is string =>
      typeof name === 'string' && asSchema(asSchema(schema.properties)[name]).default === undefined,
  );
  const isNullable = (name: string): boolean => asSchema(asSchema(schema.properties)[name]).nullable === true;
  return (node, path, walk, owner) => {
    if (!isMapping(node))
      return report(walk, node, owner, path, `must be a mapping, not ${shown(node, walk)}`);
    const there = new Set<string>();
    for (const [key, value, keyNode] of pairsOf(node)) {
      const check = fields.get(key) ?? rest;
      const inside = childPath(path, key);
      // The server takes a null away where none may be.
      if (valueOf(value, walk) !== null || isNullable(key)) there.add(key);
      if (check) check(value, inside, walk, keyNode);
      else if (!free && !(embedded && ['apiVersion', 'kind', 'metadata'].includes(key))) {
        const meant = nearestName(key, fields.keys());
        report(walk, keyNode, node, inside, `is no field of ${kind}`, meant && `Did you mean ${meant}?`);
      }
    }
    for (const name of required)
      if (!there.has(name)) report(walk, node, owner, childPath(path, name), 'is missing');
  };
};

const limitChecks = (schema: Schema): readonly Check[] => {
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

const textLength = (node: Node | null): number | undefined => {
  const value = scalarOf(node);
  return typeof value === 'string' ? Array.from(value).length : undefined;
};

/** allOf, anyOf, oneOf and not: within them a structural schema only narrows, so unknown fields are no matter there. */
const combinations = (schema: Schema, kind: string): readonly Check[] => {
  const parts = (name: string): readonly Check[] =>
    (Array.isArray(schema[name]) ? (schema[name] as readonly Value[]) : []).map((one) =>
      compile(narrowing(asSchema(one)), kind),
    );
  const passes = (check: Check, node: Node | null, path: string, walk: Walk): boolean => {
    const inner: Walk = { ...walk, found: [] };
    check(node, path, inner, null);
    walk.steps = inner.steps;
    return inner.found.length === 0;
  };
  const checks: Check[] = [...parts('allOf')];
  const any = parts('anyOf');
  const one = parts('oneOf');
  const not = schema.not === undefined ? undefined : compile(narrowing(asSchema(schema.not)), kind);
  if (any.length > 0)
    checks.push((node, path, walk, owner) => {
      if (!any.some((check) => passes(check, node, path, walk)))
        report(walk, node, owner, path, 'must be as one part of anyOf in its schema says');
    });
  if (one.length > 0)
    checks.push((node, path, walk, owner) => {
      if (one.filter((check) => passes(check, node, path, walk)).length !== 1)
        report(walk, node, owner, path, 'must be as exactly one part of oneOf in its schema says');
    });
  if (not)
    checks.push((node, path, walk, owner) => {
      if (passes(not, node, path, walk)) report(walk, node, owner, path, 'is what its schema forbids (not)');
    });
  return checks;
};

const narrowing = (schema: Schema): Schema => ({
  ...schema,
  ...(schema.properties === undefined && schema.required === undefined
    ? {}
    : {
        type: 'object',
        properties: Object.fromEntries(
          Object.entries(asSchema(schema.properties)).map(([name, one]) => [name, narrowing(asSchema(one))]),
        ),
        'x-kubernetes-preserve-unknown-fields': true,
      }),
});
