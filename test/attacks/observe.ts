import { afterEach, chai, expect, TestRunner } from 'vitest';
import { CODES, isFleetError } from '#bundles/errors';
import { rowsOfTitle } from './find-attack-tests.ts';
import { unseen } from './judge.ts';

/**
 * Set up before the tests: notes, for each test of the attack table, which codes it really saw. What counts is the value that an
 * assertion was made about, and only when the assertion held, so that no title and no table can claim what did not happen. A test that
 * passes without the answer of its title fails.
 */
declare module 'vitest' {
  interface TaskMeta {
    answers?: string[];
  }
}

const isAnswer = (value: unknown): value is string =>
  typeof value === 'string' && (value === 'ACCEPT' || Object.hasOwn(CODES, value));

const MAX_DEPTH = 3;

/** Codes in what was looked at: the value itself, an error's or an answer's code, those in a list. */
const answersIn = (value: unknown, depth = 0): readonly string[] => {
  if (isAnswer(value)) return [value];
  if (isFleetError(value)) return [value.code];
  if (typeof value === 'string')
    return [...value.matchAll(/\b[A-Z][A-Z_]+\b/g)].map(([word]) => word).filter(isAnswer);
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return [];
  const { code, status } = value as { code?: unknown; status?: unknown };
  const accepted = typeof status === 'number' && status >= 200 && status < 300 ? ['ACCEPT'] : [];
  const children = Array.isArray(value) ? value : [code];
  return [...accepted, ...children.flatMap((child: unknown) => answersIn(child, depth + 1))];
};

const note = (value: unknown): void => {
  const test = TestRunner.getCurrentTest();
  if (!test || rowsOfTitle(test.name).length === 0) return;
  const { meta } = test;
  const found = new Set([...(meta.answers ?? []), ...answersIn(value)]);
  if (found.size > 0) meta.answers = [...found];
};

const WATCHED = ['toBe', 'toEqual', 'toMatch', 'toMatchObject', 'toStrictEqual'] as const;
const MARK = Symbol.for('fleet-ferry.attacks.observed');

const already = globalThis as { [MARK]?: boolean };
if (already[MARK] !== true) {
  already[MARK] = true;
  chai.use(({ Assertion }, utils) => {
    for (const name of WATCHED) {
      utils.overwriteMethod(
        Assertion.prototype,
        name,
        (original: (...values: unknown[]) => unknown) =>
          function watched(this: object, ...values: unknown[]): unknown {
            const result = original.apply(this, values);
            if (utils.flag(this, 'negate') !== true) note(utils.flag(this, 'object'));
            return result;
          },
      );
    }
  });
}
expect(MARK).toBeDefined();

afterEach(({ task: { name, meta, result } }) => {
  if (rowsOfTitle(name).length === 0 || result?.state === 'fail' || result?.state === 'skip') return;
  const said = unseen(name, meta.answers ?? []);
  if (said !== undefined) throw new Error(`it passed, but no assertion was about ${said}`);
});
