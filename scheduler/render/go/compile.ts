import { checkDepth, fail, finish, type Run, chargeSteps, startRun, write, writeField } from '../run.ts';
import {
  type CompiledTemplate,
  templateError,
  type TemplateLimits,
  type TemplateSource,
} from '../template-source.ts';
import { unreachable } from '../../model/unreachable.ts';
import type { Body, Node, Pipe } from './ast.ts';
import { compilePipe, type Evaluate } from './compile-pipe.ts';
import { GoContext } from './values/go-context.ts';
import { isInt, SizedInt, toNumber } from '../../model/go/number.ts';
import { parse } from './parse.ts';
import { printed } from './print.ts';
import { describeValue, isList, isMap, sortedEntries, truth, type Value } from './values/value.ts';
import type { TextField } from '../../model/template-context.ts';

/** The variables of one template call; slot 0 is `$`. */
type Frame = Value[];

/** Code that runs after a node. */
type Flow = 'next' | 'break' | 'continue';

type Execute = (run: Run, frame: Frame, dot: Value) => Flow;

/** Items of a range action: the index or key and the element, in Go's order. An integer n gives 0 to n - 1. */
const elements = (run: Run, value: Value): readonly (readonly [Value, Value])[] => {
  if (isList(value)) return value.map((item, index) => [index, item] as const);
  if (isMap(value)) return sortedEntries(value);
  if (value === undefined || value === null) return [];
  if (!isInt(value)) return fail(run, `range cannot go through ${describeValue(value)}`);
  const length = Math.max(0, toNumber(value));
  chargeSteps(run, length);
  return Array.from({ length }, (_unused, index) => {
    const element = value instanceof SizedInt ? new SizedInt(value.type, index) : index;
    return [element, element] as const;
  });
};

/**
 * Compiles a Go template to closures: parsed and resolved once, run any number of times.
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT, TEMPLATE_FAILED for a function that templates may not call
 */
export const compileGoTemplate = (source: TemplateSource, limits: TemplateLimits): CompiledTemplate => {
  const tree = parse(source, limits.maxDepth);
  const compiled = new Map<string, Execute>();

  const compileBody = (body: Body): Execute => {
    const steps = body.map(compileNode);
    const [only, second] = steps;
    if (!only) return () => 'next';
    if (!second) return only;
    return (run, frame, dot) => {
      for (const step of steps) {
        const flow = step(run, frame, dot);
        if (flow !== 'next') return flow;
      }
      return 'next';
    };
  };

  const compileBranches = (node: Extract<Node, { kind: 'if' | 'with' }>): Execute => {
    const branches = node.branches.map(
      ({ pipe, body }) => [compilePipe(source, pipe), compileBody(body)] as const,
    );
    const otherwise = compileBody(node.otherwise);
    const isWith = node.kind === 'with';
    return (run, frame, dot) => {
      for (const [condition, body] of branches) {
        chargeSteps(run, 1);
        const value = condition(run, frame, dot);
        if (truth(value)) return body(run, frame, isWith ? value : dot);
      }
      return otherwise(run, frame, dot);
    };
  };

  const compileRange = (node: Extract<Node, { kind: 'range' }>): Execute => {
    const pipe = compilePipe(source, node.pipe);
    const body = compileBody(node.body);
    const otherwise = compileBody(node.otherwise);
    const { variables, at } = node.pipe;
    const keySlot = variables.length > 1 ? variables[0] : undefined;
    const valueSlot = variables.at(-1);
    return (run, frame, dot) => {
      const value = pipe(run, frame, dot);
      run.at = at;
      if (keySlot !== undefined && isInt(value))
        return fail(run, 'range through an integer sets one variable');
      const items = elements(run, value);
      if (items.length === 0) return otherwise(run, frame, dot);
      for (const [key, item] of items) {
        chargeSteps(run, 1);
        if (keySlot !== undefined) frame[keySlot] = key;
        if (valueSlot !== undefined) frame[valueSlot] = item;
        if (body(run, frame, item) === 'break') break;
      }
      return 'next';
    };
  };

  const compileCall = (node: Extract<Node, { kind: 'template' }>): Execute => {
    const argument: Evaluate = node.pipe ? compilePipe(source, node.pipe) : () => undefined;
    const { name, at } = node;
    if (!tree.definitions.has(name))
      throw templateError('TEMPLATE_SYNTAX', source, at, `there is no template ${JSON.stringify(name)}`);
    return (run, frame, dot) => {
      const value = argument(run, frame, dot);
      run.at = at;
      chargeSteps(run, 1);
      run.depth += 1;
      checkDepth(run, run.depth, 'templates call each other,');
      // Looked up at run time, because templates may call themselves.
      compiled.get(name)?.(run, [value], value);
      run.depth -= 1;
      return 'next';
    };
  };

  const compileNode = (node: Node): Execute => {
    switch (node.kind) {
      case 'text': {
        const { text, at } = node;
        return (run) => {
          run.at = at;
          write(run, text);
          return 'next';
        };
      }
      case 'action': {
        const pipe = compilePipe(source, node.pipe);
        const silent = node.pipe.variables.length > 0;
        const { at } = node;
        const plain = plainField(node.pipe);
        return (run, frame, dot) => {
          run.at = at;
          chargeSteps(run, 1);
          if (plain && (plain.fromRoot ? frame[0] : dot) instanceof GoContext) {
            writeField(run, plain.field);
            return 'next';
          }
          const value = pipe(run, frame, dot);
          if (silent) return 'next';
          run.at = at;
          write(run, typeof value === 'string' ? value : printed(run, value));
          return 'next';
        };
      }
      case 'if':
      case 'with':
        return compileBranches(node);
      case 'range':
        return compileRange(node);
      case 'template':
        return compileCall(node);
      case 'break':
      case 'continue': {
        const { kind } = node;
        return () => kind;
      }
    }
    return unreachable(node);
  };

  for (const [name, body] of tree.definitions) compiled.set(name, compileBody(body));
  const main = compileBody(tree.main);

  return (context, watch) => {
    const run = startRun(source, limits, context, watch);
    const dot = new GoContext(run.context);
    main(run, [dot], dot);
    return finish(run);
  };
};

const TEXT_FIELDS: ReadonlyMap<string, TextField> = new Map([
  ['DeploymentTargetName', 'deploymentTargetName'],
  ['Namespace', 'namespace'],
  ['Environment', 'environment'],
  ['Workspace', 'workspace'],
  ['Workload', 'workload'],
  ['ClusterType', 'clusterType'],
]);

/** The text field that `{{ .Field }}` or `{{ $.Field }}` prints verbatim; undefined for any other action. */
const plainField = ({
  variables,
  commands: [{ words }, ...more],
}: Pipe): { readonly field: TextField; readonly fromRoot: boolean } | undefined => {
  const [word, ...rest] = words;
  if (variables.length > 0 || more.length > 0 || rest.length > 0) return undefined;
  const fromRoot = word.kind === 'variable' && word.slot === 0;
  if (word.kind !== 'field' && !fromRoot) return undefined;
  const [name, ...deeper] = word.path;
  const field = name && deeper.length === 0 ? TEXT_FIELDS.get(name.name) : undefined;
  return field && { field, fromRoot };
};
