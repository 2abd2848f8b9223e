import { findFunction } from '../go/functions/functions.ts';
import { type Dict, isMap, sortedEntries } from '../go/values/value.ts';
import { checkDepth, fail, type Run, chargeSteps, write, writeField } from '../run.ts';
import { templateError } from '../template-source.ts';
import { unreachable } from '../../model/unreachable.ts';
import { isTextField } from '../watch-context.ts';
import { type Block, eachBlock, ifBlock, plainBlock, withBlock } from './blocks.ts';
import {
  type Compiler,
  compileExpression,
  compileHelper,
  compilePath,
  simpleName,
  textOf,
} from './expression.ts';
import type { Program } from './parse-handlebars.ts';
import { type Evaluate, enterBlock, type Partials, type Render, type Scope } from './scope.ts';

type Path = hbs.AST.PathExpression;

type Context = Compiler & { readonly maxDepth: number };

const BLOCKS = ['if', 'unless', 'each', 'with'] as const;
type BlockName = (typeof BLOCKS)[number];

const isBlockName = (name: string | undefined): name is BlockName => BLOCKS.some((known) => known === name);

/** `{{"my key"}}` reads the field with that name, as in Handlebars. */
const asPath = (node: Path | hbs.AST.Literal): Path => {
  if (node.type === 'PathExpression') return node as Path;
  const original = String((node as { readonly original: unknown }).original);
  return { type: 'PathExpression', data: false, depth: 0, parts: [original], original, loc: node.loc };
};

const nothing: Render = () => undefined;

/**
 * Compiles the statements of a program. `depth` is the nesting depth of blocks, `params` are the block parameters in scope.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT, TEMPLATE_FAILED
 */
export const compileProgram = (
  context: Context,
  program: Program | undefined,
  depth = 0,
  params: readonly string[] = [],
): Render => {
  if (!program) return nothing;
  const { source, offsetOf, maxDepth } = context;
  const bad = (node: hbs.AST.Node, message: string, hint?: string): never => {
    throw templateError('TEMPLATE_SYNTAX', source, offsetOf(node), message, hint);
  };
  if (depth > maxDepth)
    throw templateError('TEMPLATE_LIMIT', source, offsetOf(program), `blocks nest deeper than ${maxDepth}`);
  const reach = [...params, ...(program.blockParams ?? [])];
  const inner = (body: Program | undefined): Render => compileProgram(context, body, depth + 1, reach);

  const mustache = (node: hbs.AST.MustacheStatement): Render => {
    const path = asPath(node.path);
    const name = simpleName(path);
    const isHelper =
      node.params.length > 0 ||
      node.hash !== undefined ||
      (name !== undefined && !reach.includes(name) && findFunction(name) !== undefined);
    const value: Evaluate = isHelper
      ? compileHelper(context, { ...node, path })
      : compilePath(context, path, false);
    const at = offsetOf(node);
    const field =
      !isHelper && name !== undefined && !reach.includes(name) && isTextField(name) ? name : undefined;
    return (run, scope) => {
      run.at = at;
      chargeSteps(run, 1);
      if (field && scope.context === run.context) {
        writeField(run, field);
        return;
      }
      const result = value(run, scope);
      run.at = at;
      write(run, textOf(run, result));
    };
  };

  const namedBlock = (node: hbs.AST.BlockStatement, name: BlockName, block: Block): Render => {
    const [subject, second] = node.params;
    if (!subject || second) return bad(node, `#${name} takes one argument, not ${node.params.length}`);
    const pairs = node.hash?.pairs ?? [];
    const unknown = pairs.find(({ key }) => key !== 'includeZero' || name === 'with' || name === 'each');
    if (unknown) bad(unknown, `#${name} takes no argument named ${unknown.key}`);
    const includeZero = pairs.some(
      ({ value }) => value.type === 'BooleanLiteral' && (value as hbs.AST.BooleanLiteral).value,
    );
    // With an {{else}} the template handles a missing value.
    const lenient = name === 'if' || name === 'unless' || node.inverse !== undefined;
    const evaluate = compileExpression(context, subject, lenient);
    switch (name) {
      case 'if':
        return ifBlock(evaluate, true, includeZero, block);
      case 'unless':
        return ifBlock(evaluate, false, includeZero, block);
      case 'with':
        return withBlock(evaluate, block);
      case 'each':
        return eachBlock(evaluate, block);
    }
    return unreachable(name);
  };

  const blockStatement = (node: hbs.AST.BlockStatement): Render => {
    const path = asPath(node.path);
    const name = simpleName(path);
    const block: Block = {
      at: offsetOf(node),
      body: inner(node.program),
      otherwise: inner(node.inverse),
      names: node.program?.blockParams ?? [],
    };
    if (isBlockName(name) && !reach.includes(name)) return namedBlock(node, name, block);
    if (node.params.length > 0 || node.hash)
      return bad(
        node,
        `${path.original} is not a block helper`,
        `Use its value: {{#if (${path.original} ...)}}`,
      );
    return plainBlock(compilePath(context, path, false), block);
  };

  /** Runs an inline partial and indents its output like the call. */
  const callPartial = (run: Run, partial: Render, scope: Scope, indent: string): void => {
    if (indent === '') {
      partial(run, scope);
      return;
    }
    const { out: before, verbatim } = run;
    run.out = '';
    run.verbatim = false;
    partial(run, scope);
    run.verbatim = verbatim;
    const lines = run.out.split('\n');
    const last = lines.length - 1;
    run.out = before;
    write(run, lines.map((line, index) => (index === last && line === '' ? '' : indent + line)).join('\n'));
  };

  const partialStatement = (node: hbs.AST.PartialStatement): Render => {
    if (node.name.type === 'SubExpression') return bad(node, 'the name of a partial must be written out');
    const name = node.name.original;
    const [subject] = node.params;
    const evaluate = subject ? compileExpression(context, subject, false) : undefined;
    const named = (node.hash?.pairs ?? []).map(
      ({ key, value }) => [key, compileExpression(context, value, false)] as const,
    );
    const at = offsetOf(node);
    return (run, scope) => {
      const value = evaluate ? evaluate(run, scope) : scope.context;
      const extra = named.map(([key, compute]) => [key, compute(run, scope)] as const);
      run.at = at;
      chargeSteps(run, 1);
      run.depth += 1;
      checkDepth(run, run.depth, 'partials call each other,');
      const partial = findPartial(scope.partials, name);
      if (!partial)
        return fail(run, `there is no partial ${name}`, `Define it in this template: {{#*inline "${name}"}}`);
      if (extra.length > 0 && !isMap(value)) return fail(run, 'only a map can be given more fields');
      const given =
        extra.length > 0 && isMap(value)
          ? (Object.fromEntries([...sortedEntries(value), ...extra]) as Dict)
          : value;
      callPartial(run, partial, { ...enterBlock(scope, given), names: undefined }, node.indent);
      run.depth -= 1;
      return undefined;
    };
  };

  const inlines = new Map<string, Render>();
  const define = (node: hbs.AST.DecoratorBlock): void => {
    const name = node.params[0] as hbs.AST.StringLiteral | undefined;
    if (node.path.original !== 'inline' || name?.type !== 'StringLiteral')
      bad(node, 'the only decorator is {{#*inline "name"}}');
    else inlines.set(name.value, compileProgram(context, node.program, depth + 1));
  };

  const statement = (node: hbs.AST.Statement): Render => {
    switch (node.type) {
      case 'ContentStatement': {
        const { value } = node as hbs.AST.ContentStatement;
        const at = offsetOf(node);
        return (run) => {
          run.at = at;
          write(run, value);
        };
      }
      case 'CommentStatement':
        return nothing;
      case 'MustacheStatement':
        return mustache(node as hbs.AST.MustacheStatement);
      case 'BlockStatement':
        return blockStatement(node as hbs.AST.BlockStatement);
      case 'PartialStatement':
        return partialStatement(node as hbs.AST.PartialStatement);
      case 'DecoratorBlock':
        define(node as hbs.AST.DecoratorBlock);
        return nothing;
      case 'PartialBlockStatement':
        return bad(node, 'partial blocks are not supported', 'Use {{> name}} and {{#*inline "name"}}');
      default:
        return bad(node, 'this is not supported in a template');
    }
  };

  const steps = program.body.map(statement).filter((step) => step !== nothing);
  const run = (state: Run, scope: Scope): void => {
    for (const step of steps) step(state, scope);
  };
  if (inlines.size === 0) return run;
  return (state, scope) => run(state, { ...scope, partials: { own: inlines, outer: scope.partials } });
};

const findPartial = (partials: Partials | undefined, name: string): Render | undefined => {
  for (let at = partials; at; at = at.outer) {
    const found = at.own.get(name);
    if (found) return found;
  }
  return undefined;
};
