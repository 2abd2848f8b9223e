import { isScalar, type Node } from 'yaml';
import { kubernetesFacts } from './facts.ts';
import { LIST_KEYS } from './list-keys.ts';
import { nearestName } from '#bundles/nearest-name';
import { type ScalarValue, wrongScalar } from './scalar-checks.ts';
import { uniqueItems } from './unique-items.ts';
import type { TargetVersions } from './target-versions.ts';
import type { Fact, Scalar, TypeExpression } from './type-expression.ts';
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
} from './walk.ts';

/** Returns the check of a type in facts.jsonl, compiled on first use. */
export type TypeCompiler = (type: string) => Check;

/** @param target the Kubernetes versions that must accept the object */
export const createTypeCompiler = (target: TargetVersions): TypeCompiler => {
  const compiled = new Map<string, Check>();
  const compile = (type: TypeExpression): Check => {
    switch (type.kind) {
      case 'any':
        return () => undefined;
      case 'scalar':
        return scalarCheck(type.scalar);
      case 'words':
        return enumCheck(type.words);
      case 'list':
        return listCheck(compile(type.of));
      case 'map':
        return mapCheck(compile(type.of));
      case 'object': {
        // Looked up on use, because a type may contain itself.
        let check: Check | undefined;
        return (node, path, walk, owner) => {
          check ??= typeCheck(type.type);
          check(node, path, walk, owner);
        };
      }
    }
  };
  const typeCheck: TypeCompiler = (type) => {
    const check = compiled.get(type) ?? objectCheck(type, target, compile);
    compiled.set(type, check);
    return check;
  };
  return typeCheck;
};

const scalarCheck =
  (scalar: Scalar): Check =>
  (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) return;
    const value = scalarOf(found);
    const wanted = wrongScalar(scalar, value ?? (undefined as never));
    if (value !== undefined && wanted === undefined) return;
    const hint =
      scalar === 'string' && value !== undefined
        ? `Write it in quotes${walk.isSecret ? '' : `: ${JSON.stringify(writtenOf(found, value))}`}`
        : undefined;
    report(walk, node, owner, path, `must be ${wanted ?? 'one value'}, not ${shown(found, walk)}`, hint);
  };

/** As its author wrote it: 1.20 may be a version. */
const writtenOf = (node: Node | null, value: ScalarValue): string =>
  (isScalar(node) ? node.source : undefined) ?? String(value);

const enumCheck =
  (words: readonly string[]): Check =>
  (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    const value = scalarOf(found);
    // The server treats empty text as absent.
    if (found === null || value === '' || (typeof value === 'string' && words.includes(value))) return;
    report(walk, node, owner, path, `must be ${words.join(', ')}, not ${shown(found, walk)}`);
  };

const listCheck =
  (item: Check): Check =>
  (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) return;
    if (!isList(found)) return report(walk, node, owner, path, `must be a list, not ${shown(found, walk)}`);
    for (const [at, one] of found.items.entries()) item(one as Node | null, `${path}[${at}]`, walk, found);
  };

const mapCheck =
  (value: Check): Check =>
  (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) return;
    if (!isMapping(found))
      return report(walk, node, owner, path, `must be a mapping, not ${shown(found, walk)}`);
    for (const [key, one, keyNode] of pairsOf(found)) value(one, childPath(path, key), walk, keyNode);
  };

type Field = { readonly check: Check; readonly required: boolean; readonly missing: string | undefined };

const objectCheck = (
  type: string,
  target: TargetVersions,
  compile: (type: TypeExpression) => Check,
): Check => {
  const facts = kubernetesFacts().fieldsOf(type);
  const kind = type.slice(type.lastIndexOf('.') + 1);
  const fields = new Map(
    [...facts].map(([name, all]) => [name, withUnique(toField(all, target, compile), `${type}.${name}`)]),
  );
  const required = [...fields].flatMap(([name, field]) => (field.required ? [name] : []));
  return (node, path, walk, owner) => {
    const found = valueOf(node, walk);
    if (found === null) {
      // The server treats a null item as an empty one.
      if (path.endsWith(']') && required.length > 0)
        report(walk, node, owner, path, `must have ${required.join(' and ')}`);
      return;
    }
    if (!isMapping(found))
      return report(walk, node, owner, path, `must be a mapping, not ${shown(found, walk)}`);
    const there = new Set<string>();
    for (const [key, value, keyNode] of pairsOf(found)) {
      const field = fields.get(key);
      const inside = childPath(path, key);
      if (!field) {
        const meant = nearestName(key, fields.keys());
        report(walk, keyNode, found, inside, `is not a field of ${kind}`, meant && `Did you mean ${meant}?`);
        continue;
      }
      if (field.missing !== undefined) report(walk, keyNode, found, inside, field.missing);
      else field.check(value, inside, walk, keyNode);
      if (!isEmpty(valueOf(value, walk))) there.add(key);
    }
    for (const name of required)
      if (!there.has(name)) report(walk, found, owner, childPath(path, name), 'is missing');
  };
};

const withUnique = (field: Field, name: string): Field => {
  const keys = LIST_KEYS.get(name);
  if (!keys) return field;
  const unique = uniqueItems(keys);
  return {
    ...field,
    check: (node, path, walk, owner) => {
      field.check(node, path, walk, owner);
      unique(node, path, walk, owner);
    },
  };
};

/** Values that the server treats as absent in a required field. */
const isEmpty = (node: Node | null): boolean =>
  node === null || (isList(node) && node.items.length === 0) || scalarOf(node) === '';

const toField = (
  facts: readonly Fact[],
  { minors, every }: TargetVersions,
  compile: (type: TypeExpression) => Check,
): Field => {
  const holds = (fact: Fact, minor: number) => fact.from <= minor && minor <= fact.to;
  const concerned = facts.filter((fact) => minors.some((minor) => holds(fact, minor)));
  const without = minors.filter((minor) => !facts.some((fact) => holds(fact, minor)));
  const missing = concerned.length === 0 || (every && without.length > 0) ? existsIn(facts) : undefined;
  const checks = [...new Map(concerned.map(({ type }) => [JSON.stringify(type), compile(type)])).values()];
  return {
    missing,
    required: every
      ? concerned.some((fact) => fact.required)
      : concerned.length > 0 && without.length === 0 && concerned.every((fact) => fact.required),
    check: joinChecks(checks, every),
  };
};

const existsIn = (facts: readonly Fact[]): string => {
  const { first, last } = kubernetesFacts();
  const from = Math.min(...facts.map((fact) => fact.from));
  const to = Math.max(...facts.map((fact) => fact.to));
  if (to === last) return `is a field only since Kubernetes 1.${from}`;
  return from === first
    ? `is not a field any more since Kubernetes 1.${to + 1}`
    : `is a field only in Kubernetes 1.${from}${from === to ? '' : ` to 1.${to}`}`;
};

const allOf =
  (checks: readonly Check[]): Check =>
  (node, path, walk, owner) => {
    const before = walk.found.length;
    for (const check of checks) {
      check(node, path, walk, owner);
      if (walk.found.length > before) return;
    }
  };

/** Accepts what any version accepts; otherwise the findings of the newest version are reported. */
const anyOf =
  (checks: readonly Check[]): Check =>
  (node, path, walk, owner) => {
    const before = walk.found.length;
    for (const check of checks) {
      walk.found.length = before;
      check(node, path, walk, owner);
      if (walk.found.length === before) return;
    }
  };

const joinChecks = (checks: readonly Check[], every: boolean): Check => {
  if (checks.length === 1) return checks[0] as Check;
  return every ? allOf(checks) : anyOf(checks);
};
