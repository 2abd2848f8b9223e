import { fail, type Run } from '../run.ts';
import { type TemplateSource, templateError } from '../template-source.ts';
import { unreachable } from '../../model/unreachable.ts';
import type { Command, Name, Operand, Pipe } from './ast.ts';
import { forbiddenReason } from './functions/forbidden.ts';
import { FUNCTION_NAMES, findFunction } from './functions/functions.ts';
import { arityProblem, callFunction, type TemplateFunction } from './functions/template-function.ts';
import { GO_FIELDS, GoContext, isGoField } from './values/go-context.ts';
import { Opaque } from './values/opaque.ts';
import { describeValue, isMap, lookup, truth, type Value } from './values/value.ts';

export type Evaluate = (run: Run, frame: Value[], dot: Value) => Value;

/** A command in a pipeline; `piped` is the result of the command to its left, if there is one. */
type Stage = (run: Run, frame: Value[], dot: Value, piped: Value) => Value;

const readField = (run: Run, receiver: Value, { name, at }: Name): Value => {
  // As in Go, a missing key on the path gives no value; a null is an error.
  if (receiver === undefined) return undefined;
  if (receiver instanceof GoContext) {
    if (isGoField(name)) return receiver[name];
    run.at = at;
    return fail(run, `the context has no field .${name}`, `It has .${GO_FIELDS.join(' .')}`);
  }
  if (isMap(receiver)) return lookup(receiver, name);
  if (receiver instanceof Opaque && receiver.fields.has(name)) return receiver.fields.get(name);
  run.at = at;
  return fail(run, `.${name} cannot be read from ${receiver === null ? 'null' : describeValue(receiver)}`);
};

const withPath = (start: Evaluate, path: readonly Name[]): Evaluate => {
  const [first, second] = path;
  if (!first) return start;
  if (!second) return (run, frame, dot) => readField(run, start(run, frame, dot), first);
  return (run, frame, dot) => {
    let value = start(run, frame, dot);
    for (const name of path) value = readField(run, value, name);
    return value;
  };
};

/**
 * The function with this name.
 * @throws FleetError TEMPLATE_SYNTAX for an unknown name, TEMPLATE_FAILED for a forbidden one
 */
const resolveFunction = (source: TemplateSource, name: string, at: number): TemplateFunction => {
  const found = findFunction(name);
  if (found) return found;
  const reason = forbiddenReason(name);
  if (reason)
    throw templateError(
      'TEMPLATE_FAILED',
      source,
      at,
      `${name} is not allowed: ${reason}`,
      'Put the value into the platform configuration instead',
    );
  const close = FUNCTION_NAMES.find((known) => known.toLowerCase() === name.toLowerCase());
  const hint = close && `Did you mean ${close}?`;
  throw templateError('TEMPLATE_SYNTAX', source, at, `there is no function ${name}`, hint);
};

/** `and` and `or` stop at the argument that decides, and return it. */
const compileLazy = (
  source: TemplateSource,
  name: 'and' | 'or',
  words: readonly Evaluate[],
  at: number,
  piped: boolean,
): Stage => {
  if (words.length === 0 && !piped)
    throw templateError('TEMPLATE_SYNTAX', source, at, `${name} takes at least 1 argument, not 0`);
  const decides = name === 'or';
  return (run, frame, dot, last) => {
    let value: Value;
    for (const word of words) {
      value = word(run, frame, dot);
      if (truth(value) === decides) return value;
    }
    return piped ? last : value;
  };
};

const compileCall = (
  source: TemplateSource,
  { name, at }: Extract<Operand, { kind: 'function' }>,
  words: readonly Operand[],
  piped: boolean,
): Stage => {
  const evaluates = words.map((word) => compileOperand(source, word));
  if (name === 'and' || name === 'or') return compileLazy(source, name, evaluates, at, piped);
  const fn = resolveFunction(source, name, at);
  const problem = arityProblem(name, fn, words.length + (piped ? 1 : 0));
  if (problem) throw templateError('TEMPLATE_SYNTAX', source, at, problem);
  return (run, frame, dot, last) => {
    const values = evaluates.map((evaluate) => evaluate(run, frame, dot));
    if (piped) values.push(last);
    return callFunction(run, name, fn, at, values);
  };
};

/** A word used as a value: a function here has no arguments. */
const compileOperand = (source: TemplateSource, operand: Operand): Evaluate => {
  switch (operand.kind) {
    case 'dot':
      return (_run, _frame, dot) => dot;
    case 'nil':
      return () => null;
    case 'literal': {
      const { value } = operand;
      return () => value;
    }
    case 'field':
      return withPath((_run, _frame, dot) => dot, operand.path);
    case 'variable': {
      const { slot } = operand;
      return withPath((_run, frame) => frame[slot], operand.path);
    }
    case 'group':
      return compilePipe(source, operand.pipe);
    case 'chain':
      return withPath(compileOperand(source, operand.of), operand.path);
    case 'function': {
      const call = compileCall(source, operand, [], false);
      return (run, frame, dot) => call(run, frame, dot, undefined);
    }
  }
  return unreachable(operand);
};

const compileCommand = (source: TemplateSource, { words }: Command, piped: boolean): Stage => {
  const [first, ...rest] = words;
  if (first.kind === 'function') return compileCall(source, first, rest, piped);
  if (rest.length > 0 || piped)
    throw templateError('TEMPLATE_SYNTAX', source, first.at, 'only a function takes arguments');
  if (first.kind === 'nil')
    throw templateError('TEMPLATE_SYNTAX', source, first.at, 'nil alone has no value');
  return compileOperand(source, first);
};

/** A null at the end of a pipe becomes no value, as when Go unwraps an interface. */
export const compilePipe = (source: TemplateSource, { commands, variables }: Pipe): Evaluate => {
  const [first, ...rest] = commands;
  const start = compileCommand(source, first, false);
  const stages = rest.map((command) => compileCommand(source, command, true));
  const evaluate: Evaluate =
    stages.length === 0
      ? (run, frame, dot) => start(run, frame, dot, undefined) ?? undefined
      : (run, frame, dot) => {
          let value = start(run, frame, dot, undefined) ?? undefined;
          for (const stage of stages) value = stage(run, frame, dot, value) ?? undefined;
          return value;
        };
  if (variables.length === 0) return evaluate;
  return (run, frame, dot) => {
    const value = evaluate(run, frame, dot);
    for (const slot of variables) frame[slot] = value;
    return value;
  };
};
