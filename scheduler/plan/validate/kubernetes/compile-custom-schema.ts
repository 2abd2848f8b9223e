import type { Node } from 'yaml';
import type { Value } from '../../../model/model.ts';
import type { ListKey } from './list-keys.ts';
import { nearestName } from '#bundles/nearest-name';
import { combinations } from './narrowing.ts';
import { uniqueItems } from './unique-items.ts';
import { asSchema, limitChecks, type Schema, SCALARS, scalarCheck } from './value-checks.ts';
import { type Check, childPath, isList, isMapping, pairsOf, report, shown, valueOf } from './walk.ts';

/**
 * Compiles the structural schema of a CustomResourceDefinition (openAPIV3Schema, apiextensions.k8s.io/v1): types, unknown
 * and required fields, enums, limits and patterns. CEL rules and defaults are left to the cluster.
 */
export const compileCustomSchema = (schema: Value | undefined, kind: string): Check => {
  if (schema === undefined) return () => undefined;
  const root = asSchema(schema);
  // Kubernetes validates these itself, regardless of the schema.
  const properties = { ...asSchema(root.properties), apiVersion: true, kind: true, metadata: true };
  return compile({ ...root, type: 'object', properties: { ...properties, status: true } }, kind);
};

const compile = (schema: Schema, kind: string): Check => {
  const type = typeCheck(schema, kind);
  const more = [...limitChecks(schema), ...combinations(schema, schema)];
  return (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) return;
    const before = walk.found.length;
    type(found, path, walk, owner);
    if (walk.found.length === before) for (const check of more) check(found, path, walk, owner);
  };
};

const typeCheck = (schema: Schema, kind: string): Check => {
  if (schema['x-kubernetes-int-or-string'] === true) return scalarCheck('int-or-string');
  const kindOfValue = typeof schema.type === 'string' ? schema.type : '';
  switch (kindOfValue) {
    case 'object':
      return objectCheck(schema, kind);
    case 'array': {
      const item = compile(asSchema(schema.items), kind);
      const nullable = asSchema(schema.items).nullable === true;
      const unique = uniqueCheck(schema);
      return (node, path, walk, owner) => {
        if (!isList(node)) return report(walk, node, owner, path, `must be a list, not ${shown(node, walk)}`);
        for (const [at, one] of node.items.entries()) {
          const inside = `${path}[${at}]`;
          if (!nullable && valueOf(one as Node | null, walk) === null)
            report(walk, one as Node | null, node, inside, 'must not be null');
          else item(one as Node | null, inside, walk, node);
        }
        unique?.(node, path, walk, owner);
      };
    }
    default: {
      const name = SCALARS[kindOfValue];
      return name ? scalarCheck(name) : () => undefined;
    }
  }
};

/** undefined for a list whose items are not told apart. */
const uniqueCheck = (schema: Schema): Check | undefined => {
  const { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys, items } = schema;
  if (type === 'set') return uniqueItems([]);
  if (type !== 'map' || !Array.isArray(keys)) return undefined;
  const properties = asSchema(asSchema(items).properties);
  return uniqueItems(
    keys.map(String).map((key): ListKey => {
      const value = asSchema(properties[key]).default;
      return value === undefined || typeof value === 'object' ? [key] : [key, String(value)];
    }),
  );
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
      // The server drops a null where the field is not nullable.
      if (valueOf(value, walk) !== null || isNullable(key)) there.add(key);
      if (check) check(value, inside, walk, keyNode);
      else if (!free && !(embedded && ['apiVersion', 'kind', 'metadata'].includes(key))) {
        const meant = nearestName(key, fields.keys());
        report(walk, keyNode, node, inside, `is not a field of ${kind}`, meant && `Did you mean ${meant}?`);
      }
    }
    for (const name of required)
      if (!there.has(name)) report(walk, node, owner, childPath(path, name), 'is missing');
  };
};
