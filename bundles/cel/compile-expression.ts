import type { CelFunc, CelInput, CelMap } from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { FleetError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import { didYouMean } from '../nearest-name.ts';
import type * as library from './library.ts';

/** Whether it holds for an object, or why it has no answer: a field is missing, types do not fit, it takes too many steps. */
export type Expression = (object: Readonly<Record<string, unknown>>) => boolean | { readonly why: string };

/** Upper bound on the steps of all loops of an expression (`all`, `exists`, `filter`, `map`), nested ones multiplied. */
const MAX_STEPS = 5000;
/** Upper bound on the steps times the characters of the object, since a step may compare or search all of it. About a second. */
const MAX_WORK = 50_000_000;
const MAX_CHARACTERS = 2048;
/** Called by the condition of each loop. No expression can define it or change what it answers. */
const WITHIN = 'fleet_within_steps';

/** Fields of an object that an expression can name, and CEL's names of types. */
const FIELDS = ['apiVersion', 'kind', 'metadata', 'spec', 'status', 'data', 'webhooks', 'rules', 'subjects'];
const TYPES = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type'];

/**
 * Compiles an expression in CEL (https://cel.dev) over the fields of an object, as Flux's healthCheckExprs. Its cost is bounded whatever the
 * object holds: loops have a budget of steps, which is smaller for a large object, and regular expressions take time linear in the text (RE2).
 * @throws FleetError FIELD_INVALID for one that is not valid, names something else than a field of an object, or calls an unknown function
 */
export type CompileExpression = (text: string) => Expression;

/** Loads CEL, which the bundled agent has in a file of its own: without an expression it does not read that. */
export const loadCel = async (): Promise<CompileExpression> => {
  const cel = await import('./library.ts');
  return (text) => compileExpression(cel, text);
};

type Cel = typeof library;

const compileExpression = (cel: Cel, text: string): Expression => {
  const { CelScalar, celEnv, celFunc, isCelError, parse, plan } = cel;
  const toInput = inputOf(cel);
  const budget = { left: 0 };
  const within = celFunc(WITHIN, [CelScalar.BOOL], CelScalar.BOOL, (goesOn) => {
    budget.left -= 1;
    return goesOn && budget.left >= 0;
  });
  const env = celEnv({ funcs: [within, ...numbersOfText(cel)] });
  const parsed = parseText(parse, text);
  // Operators have names that nobody can write as a call: _==_, @in.
  const isKnown = (name: string): boolean => !/^[a-z]/i.test(name) || env.funcs.find(name) !== undefined;
  boundLoops(parsed.expr, new Set([...FIELDS, ...TYPES]), isKnown);
  const evaluate = plan(env, parsed);
  return (object) => {
    try {
      const fields = FIELDS.filter((name) => Object.hasOwn(object, name)).map((name) => [
        name,
        toInput(object[name]),
      ]);
      const steps = Math.min(MAX_STEPS, Math.floor(MAX_WORK / JSON.stringify(object).length));
      budget.left = steps;
      const answer = evaluate(Object.fromEntries(fields) as Record<string, CelInput>);
      if (budget.left < 0) return { why: `it takes more than ${steps} steps` };
      if (isCelError(answer)) return { why: answer.message };
      return typeof answer === 'boolean' ? answer : { why: 'it is neither true nor false' };
    } catch (error) {
      // A deep value may exhaust the stack.
      return { why: error instanceof Error ? error.message : String(error) };
    }
  };
};

const parseText = (parse: Cel['parse'], text: string): ReturnType<Cel['parse']> => {
  if (text.length > MAX_CHARACTERS) throw invalid(`it has more than ${MAX_CHARACTERS} characters`);
  try {
    return parse(text);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message.replace(/^<input>:/, 'line ') : String(error));
  }
};

const invalid = (message: string, hint?: string): FleetError =>
  new FleetError('FIELD_INVALID', message, hint === undefined ? {} : { hint });

/** Counts the steps of each loop, and refuses names and functions that no object has. */
const boundLoops = (
  expr: Expr | undefined,
  names: ReadonlySet<string>,
  isKnown: (name: string) => boolean,
): void => {
  if (!expr) return;
  const visit = (one: Expr | undefined, known = names): void => boundLoops(one, known, isKnown);
  const { exprKind } = expr;
  switch (exprKind.case) {
    case 'identExpr':
      if (!names.has(exprKind.value.name)) throw unknownName(exprKind.value.name);
      return;
    case 'selectExpr':
      visit(exprKind.value.operand);
      return;
    case 'callExpr': {
      const { target, args } = exprKind.value;
      if (exprKind.value.function === WITHIN || !isKnown(exprKind.value.function))
        throw invalid(`it calls ${exprKind.value.function}(), which CEL does not have`);
      for (const one of [target, ...args]) visit(one);
      return;
    }
    case 'listExpr':
      for (const one of exprKind.value.elements) visit(one);
      return;
    case 'structExpr':
      for (const { keyKind, value } of exprKind.value.entries) {
        if (keyKind.case === 'mapKey') visit(keyKind.value);
        visit(value);
      }
      return;
    case 'comprehensionExpr': {
      const loop = exprKind.value;
      visit(loop.iterRange);
      visit(loop.accuInit);
      const inner = new Set([...names, loop.iterVar, loop.accuVar]);
      for (const one of [loop.loopCondition, loop.loopStep, loop.result]) visit(one, inner);
      loop.loopCondition = counted(loop.loopCondition as Expr);
      return;
    }
    case 'constExpr':
    case undefined:
  }
};

const counted = (condition: Expr): Expr => ({
  ...condition,
  exprKind: {
    case: 'callExpr',
    value: { $typeName: 'cel.expr.Expr.Call', function: WITHIN, args: [condition] },
  },
});

const unknownName = (name: string): FleetError =>
  invalid(
    `it names ${JSON.stringify(name)}, which is not a field of an object`,
    `${didYouMean(name, FIELDS) ?? ''}It can be ${FIELDS.join(', ')}`,
  );

/** Texts that Go's ParseInt, ParseUint and ParseFloat take, which cel-go calls. Each takes time linear in the text. */
const WHOLE = /^[+-]?\d+$/;
const UNSIGNED = /^\d+$/;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const NOT_FINITE = /^(?:nan|[+-]?inf(?:inity)?)$/i;
/** Digits of the longest number of 64 bits, or a sign and one digit less. A bound, because BigInt takes more than linear time. */
const MAX_DIGITS = 20;

/**
 * Numbers of texts as in cel-go, thus in Kubernetes and Flux: the library reads texts as JavaScript does, where "" is 0 and "5%" is NaN
 * (findings/cel-text-becomes-nan.sh).
 */
const numbersOfText = ({ CelScalar, celFunc, celUint }: Cel): readonly CelFunc[] => {
  const { DOUBLE, INT, STRING, UINT } = CelScalar;
  const whole = (text: string, form: RegExp, least: bigint, most: bigint): bigint => {
    if (!form.test(text)) throw new Error('the text is not a whole number');
    const short = text.replace(/^([+-]?)0+(?=\d)/, '$1');
    const value = short.length > MAX_DIGITS ? undefined : BigInt(short);
    if (value === undefined || value > most || value < least)
      throw new Error('overflow: the text is a number beyond 64 bits');
    return value;
  };
  const decimal = (text: string): number => {
    if (NOT_FINITE.test(text)) return Number(text.replace(/inf.*/i, 'Infinity').replace(/nan/i, 'NaN'));
    const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value))
      throw new Error('the text is not a number, or is beyond the range of a double');
    return value;
  };
  return [
    celFunc('int', [STRING], INT, (text) => whole(text, WHOLE, -(2n ** 63n), 2n ** 63n - 1n)),
    celFunc('uint', [STRING], UINT, (text) => celUint(whole(text, UNSIGNED, 0n, 2n ** 64n - 1n))),
    celFunc('double', [STRING], DOUBLE, decimal),
  ];
};

/** Has the keys whose value is null, too, as in Kubernetes and Flux; the library counts them as missing (findings/cel-has-null-is-absent.sh). */
const withNulls = (map: CelMap): CelMap =>
  Object.assign(map, { has: (key: Parameters<CelMap['has']>[0]) => map.get(key) !== undefined });

/** Whole numbers are ints, as in Kubernetes. */
const inputOf = ({ celMap }: Cel): ((value: unknown) => CelInput) => {
  const toInput = (value: unknown): CelInput => {
    if (Array.isArray(value)) return value.map(toInput);
    if (isRecord(value))
      return withNulls(celMap(new Map(Object.entries(value).map(([key, one]) => [key, toInput(one)]))));
    return Number.isSafeInteger(value) ? BigInt(value as number) : (value as CelInput);
  };
  return toInput;
};
