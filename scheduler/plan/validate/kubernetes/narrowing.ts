import { type Node, parseDocument } from 'yaml';
import type { Value } from '../../../model/model.ts';
import { asSchema, limitChecks, type Schema, SCALARS, scalarCheck } from './value-checks.ts';
import { type Check, childPath, isList, isMapping, pairsOf, report, valueOf, type Walk } from './walk.ts';

/**
 * The keywords allOf, anyOf, oneOf and not. Inside them a structural schema only narrows: each keyword applies only to
 * values of its own type, and unnamed fields are allowed.
 * @param outer the structural schema at the same place, which decides about null and defaults
 */
export const combinations = (schema: Schema, outer: Schema): readonly Check[] => {
  const parts = (name: string): readonly Check[] =>
    listOf(schema[name]).map((one) => narrow(asSchema(one), outer));
  const checks: Check[] = [...parts('allOf')];
  const any = parts('anyOf');
  const one = parts('oneOf');
  const not = schema.not === undefined ? undefined : narrow(asSchema(schema.not), outer);
  if (any.length > 0)
    checks.push((node, path, walk, owner) => {
      if (!any.some((check) => passes(check, node, path, walk)))
        report(walk, node, owner, path, 'must match one part of anyOf in its schema');
    });
  if (one.length > 0)
    checks.push((node, path, walk, owner) => {
      if (one.filter((check) => passes(check, node, path, walk)).length !== 1)
        report(walk, node, owner, path, 'must match exactly one part of oneOf in its schema');
    });
  if (not)
    checks.push((node, path, walk, owner) => {
      if (passes(not, node, path, walk))
        report(walk, node, owner, path, 'matches a part that its schema excludes (not)');
    });
  return checks;
};

const listOf = (value: Value | undefined): readonly Value[] =>
  Array.isArray(value) ? (value as readonly Value[]) : [];

const passes = (check: Check, node: Node | null, path: string, walk: Walk): boolean => {
  const inner: Walk = { ...walk, found: [] };
  check(node, path, inner, null);
  walk.steps = inner.steps;
  return inner.found.length === 0;
};

/** Compiles one part of a combination. */
const narrow = (schema: Schema, outer: Schema): Check => {
  const scalar = typeof schema.type === 'string' ? SCALARS[schema.type] : undefined;
  const checks = [
    ...(scalar ? [scalarCheck(scalar)] : []),
    ...fieldChecks(schema, outer),
    ...itemChecks(schema, outer),
    ...limitChecks(schema),
    ...combinations(schema, outer),
  ];
  return (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found !== null) for (const check of checks) check(found, path, walk, owner);
  };
};

const itemChecks = (schema: Schema, outer: Schema): readonly Check[] => {
  if (schema.items === undefined) return [];
  const item = narrow(asSchema(schema.items), asSchema(outer.items));
  return [
    (node, path, walk) => {
      if (!isList(node)) return;
      for (const [at, one] of node.items.entries()) item(one as Node | null, `${path}[${at}]`, walk, node);
    },
  ];
};

const fieldChecks = (schema: Schema, outer: Schema): readonly Check[] => {
  const { properties, required, additionalProperties } = schema;
  if (properties === undefined && required === undefined && additionalProperties === undefined) return [];
  const outerOf = (name: string): Schema =>
    asSchema(asSchema(outer.properties)[name] ?? outer.additionalProperties);
  const fields = new Map(
    Object.entries(asSchema(properties)).map(([name, one]) => [name, narrow(asSchema(one), outerOf(name))]),
  );
  const rest =
    typeof additionalProperties === 'object'
      ? narrow(asSchema(additionalProperties), asSchema(outer.additionalProperties))
      : undefined;
  const names = listOf(required).filter((name) => typeof name === 'string');
  // The server applies defaults before it validates.
  const defaults = new Map(
    Object.entries(asSchema(outer.properties)).flatMap(([name, one]) => {
      const value = asSchema(one).default;
      return value === undefined ? [] : [[name, parseDocument(JSON.stringify(value)).contents]];
    }),
  );
  return [
    (node, path, walk, owner) => {
      if (!isMapping(node)) return;
      const there = new Set<string>();
      for (const [name, value, keyNode] of pairsOf(node)) {
        // It also drops a null where the field is not nullable.
        const isNull = valueOf(value, walk) === null;
        if (isNull && outerOf(name).nullable !== true) continue;
        there.add(name);
        (fields.get(name) ?? rest)?.(value, childPath(path, name), walk, keyNode);
      }
      for (const [name, value] of defaults) {
        if (there.has(name)) continue;
        there.add(name);
        fields.get(name)?.(value, childPath(path, name), walk, owner);
      }
      for (const name of names)
        if (!there.has(name)) report(walk, node, owner, childPath(path, name), 'is missing');
    },
  ];
};
