import { fail, type Run, chargeSteps } from '../../run.ts';
import { goText } from '../print.ts';
import { byBytes, isList, nilList, stringList, truth, typed, type Value } from '../values/value.ts';
import { sameForm } from './core.ts';
import { deepEqual } from './equal.ts';
import { toBig } from './math.ts';
import {
  type FunctionTable,
  fixed,
  withMustVariants,
  type TemplateFunction,
  variadic,
} from './template-function.ts';
import { texts } from './text.ts';

/** sprig's list functions. None modifies a list; each returns a new one. */

const includes = (run: Run, list: readonly Value[], wanted: Value): boolean =>
  list.some((item) => deepEqual(run, item, wanted));

const unique = (run: Run, list: readonly Value[]): Value[] => {
  const found: Value[] = [];
  for (const item of list) if (!includes(run, found, item)) found.push(item);
  return found;
};

/** Numbers from `start` up to but excluding `stop`. Each costs a step, which limits the count. */
const untilStep = (run: Run, start: number, stop: number, step: number): number[] => {
  const forward = stop >= start;
  if (forward ? step <= 0 : step >= 0) return [];
  const length = Math.ceil((stop - start) / step);
  chargeSteps(run, length);
  return Array.from({ length }, (_unused, index) => start + index * step);
};

const seq = (run: Run, ...values: readonly number[]): string => {
  const [start, step, end] = rangeOf(values);
  if (values.length < 1 || values.length > 3 || (end < start && step > 0)) return '';
  return untilStep(run, start, end + (end < start ? -1 : 1), step).join(' ');
};

const sliced = (run: Run, list: readonly Value[], ...positions: readonly Value[]): Value[] => {
  const [from = 0, to = list.length] = positions.map((value) => Number(toBig(value)));
  if (from < 0 || to > list.length || from > to)
    return fail(run, `positions ${from} to ${to} do not fit a list of ${list.length}`);
  return list.slice(from, to);
};

const chunk = (run: Run, size: number, list: readonly Value[]): Value[][] => {
  if (size < 1) return fail(run, 'chunk needs a size of at least 1');
  const chunks = Array.from({ length: Math.ceil(list.length / size) }, (_unused, index) =>
    sliced(run, list, index * size, Math.min(list.length, (index + 1) * size)),
  );
  return typed(chunks, '[][]interface {}');
};

const flat = (run: Run, lists: readonly (readonly Value[])[]): Value[] => {
  for (const list of lists) chargeSteps(run, list.length);
  const items = lists.flatMap((list) => [...list]);
  return items.length === 0 ? nilList() : items;
};

const list = variadic([], 'any', (_run, ...values) => values);

/** Functions that sprig also has with the prefix `must`; here both fail alike. */
const WITH_TWINS: FunctionTable = {
  append: fixed(['list', 'any'], (_run, items, value) => [...items, value]),
  prepend: fixed(['list', 'any'], (_run, items, value) => [value, ...items]),
  first: fixed(['list'], (_run, items) => items[0] ?? null),
  last: fixed(['list'], (_run, items) => items.at(-1) ?? null),
  rest: fixed(['list'], (_run, items) => (items.length === 0 ? nilList() : items.slice(1))),
  initial: fixed(['list'], (_run, items) => (items.length === 0 ? nilList() : items.slice(0, -1))),
  reverse: fixed(['list'], (_run, items) => items.toReversed()),
  compact: fixed(['list'], (_run, items) => items.filter(truth)),
  uniq: fixed(['list'], unique),
  without: variadic(['list'], 'any', (run, items, ...unwanted) =>
    items.filter((item) => !includes(run, unwanted, item)),
  ),
  has: fixed(['any', 'any'], (run, wanted, items) => {
    if (items === null) return false;
    return isList(items) ? includes(run, items, wanted) : fail(run, 'has looks into a list');
  }),
  chunk: fixed(['int', 'list'], chunk),
};

export const LISTS: FunctionTable = {
  ...WITH_TWINS,
  ...withMustVariants(WITH_TWINS),
  list,
  tuple: list,
  push: WITH_TWINS['append'] as TemplateFunction,
  mustPush: WITH_TWINS['append'] as TemplateFunction,
  mustSlice: variadic(['list'], 'any', (run, items, ...positions) =>
    items.length === 0 ? null : sameForm(items, sliced(run, items, ...positions)),
  ),
  concat: variadic([], 'list', (run, ...lists) => flat(run, lists)),
  sortAlpha: fixed(['any'], (run, items) =>
    stringList(isList(items) ? texts(run, items).sort(byBytes) : [goText(run, items)]),
  ),
  until: fixed(['int'], (run, end) => typed(untilStep(run, 0, end, end < 0 ? -1 : 1), '[]int')),
  untilStep: fixed(['int', 'int', 'int'], (run, start, stop, step) =>
    typed(untilStep(run, start, stop, step), '[]int'),
  ),
  seq: variadic([], 'int', seq),
};

/** First value, step and last value of `seq`, which takes one to three numbers. */
const rangeOf = (values: readonly number[]): readonly [number, number, number] => {
  const [first = 0, second = 0, third = 0] = values;
  if (values.length === 1) return [1, first < 1 ? -1 : 1, first];
  return values.length === 2 ? [first, second < first ? -1 : 1, second] : [first, second, third];
};
