import { forbiddenReason } from '../go/functions/forbidden.ts';
import { FUNCTION_NAMES, findFunction } from '../go/functions/functions.ts';
import { arityProblem, callFunction } from '../go/functions/template-function.ts';
import { WholeFloat } from '../../model/go/number.ts';
import { goText } from '../go/print.ts';
import { describeValue, isList, isMap, type Value } from '../go/values/value.ts';
import { fail, type Run } from '../run.ts';
import { type TemplateSource, templateError } from '../template-source.ts';
import { type Evaluate, readPart, type Scope } from './scope.ts';
import { isTrue } from './truth.ts';

export type Compiler = {
  readonly source: TemplateSource;
  readonly offsetOf: (node: { readonly loc?: hbs.AST.SourceLocation | null }) => number;
};

type Path = hbs.AST.PathExpression;

/** Helpers that accept missing values; all others fail on them. */
const LENIENT: ReadonlySet<string> = new Set([
  'default',
  'coalesce',
  'empty',
  'and',
  'or',
  'not',
  'all',
  'any',
]);

const isPath = (node: { readonly type: string }): node is Path => node.type === 'PathExpression';

/** `./name` and `this.name` are always fields, even if a helper has the same name. */
const isScoped = (path: Path): boolean => /^(?:\.|this(?:$|[./]))/.test(path.original);

/** The name by which a path may call a helper; undefined for longer and scoped paths. */
export const simpleName = (path: Path): string | undefined =>
  path.parts.length === 1 && !path.data && path.depth === 0 && !isScoped(path) ? path.parts[0] : undefined;

const blockParameter = (scope: Scope, name: string): { readonly value: Value } | undefined => {
  for (let { names } = scope; names; names = names.outer)
    if (names.values.has(name)) return { value: names.values.get(name) };
  return undefined;
};

const iterationValue = (scope: Scope, depth: number, name: string): Value => {
  let { turn } = scope;
  for (let up = depth; turn && up > 0; up -= 1) turn = turn.outer;
  switch (name) {
    case 'key':
    case 'index':
    case 'first':
    case 'last':
      return turn?.[name];
    default:
      return undefined;
  }
};

/** The value at which a path starts, and its remaining parts. */
const startOf = (run: Run, scope: Scope, path: Path): readonly [Value, readonly string[]] => {
  const [first = '', ...rest] = path.parts;
  if (path.data) {
    if (first === 'root' && path.depth === 0) return [run.context, rest];
    return [iterationValue(scope, path.depth, first), rest];
  }
  const parameter = path.depth === 0 && !isScoped(path) ? blockParameter(scope, first) : undefined;
  if (parameter) return [parameter.value, rest];
  let at: Scope | undefined = scope;
  for (let up = path.depth; at && up > 0; up -= 1) at = at.outer;
  return [at?.context, path.parts];
};

const missing = (run: Run, path: Path): never => {
  const reason = path.parts.length === 1 ? forbiddenReason(path.original) : undefined;
  const because = reason ? `: ${reason}` : '';
  return fail(
    run,
    `${path.original} is not defined${because}`,
    `For a value that may be missing: {{default "..." ${path.original}}}`,
  );
};

export const compilePath = ({ offsetOf }: Compiler, path: Path, lenient: boolean): Evaluate => {
  const at = offsetOf(path);
  return (run, scope) => {
    const [start, parts] = startOf(run, scope, path);
    let value = start;
    for (const part of parts) value = readPart(value, part);
    if (value !== undefined || lenient) return value;
    run.at = at;
    return missing(run, path);
  };
};

const LITERALS: ReadonlySet<string> = new Set([
  'StringLiteral',
  'NumberLiteral',
  'BooleanLiteral',
  'NullLiteral',
]);

/** Compiles a parameter. `lenient` allows a path to be missing. */
export const compileExpression = (
  compiler: Compiler,
  node: hbs.AST.Expression,
  lenient: boolean,
): Evaluate => {
  if (isPath(node)) return compilePath(compiler, node, lenient);
  if (node.type === 'SubExpression')
    return compileHelper(compiler, node as hbs.AST.SubExpression & { readonly path: Path });
  const value = LITERALS.has(node.type) ? ((node as hbs.AST.StringLiteral).value ?? null) : undefined;
  return () => value;
};

type Call = Pick<hbs.AST.SubExpression, 'params' | 'hash' | 'loc'> & { readonly path: Path };

/**
 * Compiles a helper call; arguments are in the order of the Go function.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_FAILED for a helper that templates may not call
 */
export const compileHelper = (compiler: Compiler, call: Call): Evaluate => {
  const { source, offsetOf } = compiler;
  const at = offsetOf(call);
  const bad = (message: string, hint?: string): never => {
    throw templateError('TEMPLATE_SYNTAX', source, at, message, hint);
  };
  const name = simpleName(call.path) ?? bad(`${call.path.original} is not a helper`);
  if (call.hash) bad(`${name} takes no named arguments`);
  const words = call.params.map((param) => compileExpression(compiler, param, LENIENT.has(name)));
  if (name === 'and' || name === 'or') {
    if (words.length === 0) bad(`${name} takes at least 1 argument, not 0`);
    return lazily(words, name === 'or');
  }
  if (name === 'lookup') {
    if (words.length !== 2) bad(`lookup takes 2 arguments, not ${words.length}`);
    return (run, scope) => {
      const [from, key] = words.map((word) => word(run, scope));
      return readPart(from, goText(run, key));
    };
  }
  const reason = forbiddenReason(name);
  if (reason) throw templateError('TEMPLATE_FAILED', source, at, `${name} is not allowed: ${reason}`);
  const close = FUNCTION_NAMES.find((known) => known.toLowerCase() === name.toLowerCase());
  const fn = findFunction(name) ?? bad(`there is no helper ${name}`, close && `Did you mean ${close}?`);
  const problem = arityProblem(name, fn, words.length);
  if (problem)
    bad(problem, words.length === 0 ? `To read a field of that name write this.${name}` : undefined);
  return (run, scope) => {
    const values = words.map((word) => word(run, scope));
    return callFunction(run, name, fn, at, values);
  };
};

const lazily =
  (words: readonly Evaluate[], decides: boolean): Evaluate =>
  (run, scope) => {
    let value: Value;
    for (const word of words) {
      value = word(run, scope);
      if (isTrue(value) === decides) return value;
    }
    return value;
  };

/** A value as text. A list or map fails, because the template must choose a format. */
export const textOf = (run: Run, value: Value): string => {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  if (value === undefined) return fail(run, 'there is nothing to print here');
  if (isList(value) || isMap(value))
    return fail(
      run,
      `${describeValue(value)} cannot be printed as it is`,
      'Choose a format: toYaml or toJson',
    );
  if (value instanceof WholeFloat) return String(value.value);
  return typeof value === 'object' ? goText(run, value) : String(value);
};
