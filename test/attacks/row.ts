import type { ErrorCode } from '#bundles/errors';

/** What a program answers to an attack: a refusal by its code, or ACCEPT where nothing was wrong. */
export type Answer = ErrorCode | 'ACCEPT';

/** One way to try it. `title`: words that the title of its test has, where a row has several. */
export type AttackCase = { readonly expect: Answer; readonly title?: string };

/**
 * A row of the attack table. Its tests are those whose titles begin with its id; docs/attacks.md shows `attack` and `answer`, and
 * test/docs/attacks.test.ts holds the two together.
 */
export type AttackRow = {
  readonly id: string;
  readonly name: string;
  /** What the attacker does. */
  readonly attack: string;
  /** The answer as docs/attacks.md shows it: codes in backticks, and other effects. */
  readonly answer: string;
  readonly cases: readonly AttackCase[];
};

/** One case, one code. */
export const row = (id: string, name: string, attack: string, expect: Answer): AttackRow => ({
  id,
  name,
  attack,
  answer: expect === 'ACCEPT' ? expect : `\`${expect}\``,
  cases: [{ expect }],
});

export const rowOf = (
  id: string,
  name: string,
  attack: string,
  answer: string,
  cases: readonly (readonly [expect: Answer, title?: string])[],
): AttackRow => ({
  id,
  name,
  attack,
  answer,
  cases: cases.map(([expect, title]) => (title === undefined ? { expect } : { expect, title })),
});
