import { rowsOfTitle } from './find-attack-tests.ts';
import type { AttackCase, AttackRow } from './row.ts';

export type TestResult = {
  readonly file: string;
  readonly title: string;
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending';
  /** Codes that assertions which held were made about (test/attacks/observe.ts). */
  readonly answers: readonly string[];
};

export type Judged = {
  readonly row: AttackRow;
  readonly case: AttackCase;
  /** What its tests really saw; empty when none of them ran. */
  readonly answered: string;
  readonly files: readonly string[];
  readonly ok: boolean;
};

/** A case that the tests of this run do not show, and the files left out of it that have tests of its row. */
export type NotRun = {
  readonly row: AttackRow;
  readonly case: AttackCase;
  readonly files: readonly string[];
};

export type Verdict = {
  readonly cases: readonly Judged[];
  readonly notRun: readonly NotRun[];
  readonly problems: readonly string[];
};

/** The answer that a title promises, 'M5: payload flip -> BAD_SIGNATURE', and that no assertion was about; undefined if all is well. */
export const unseen = (title: string, answers: readonly string[]): string | undefined => {
  const [, said] = / -> ([A-Z_]+)$/.exec(title) ?? [];
  if (said === undefined || answers.includes(said)) return undefined;
  // What was let through may be shown by what came of it.
  return said === 'ACCEPT' && answers.length === 0 ? undefined : said;
};

/**
 * Holds the table against what the tests saw. A case is shown when a test of its row, with the case's words in its title, passed
 * and saw the expected answer.
 * @param leftOut the files that did not run, each with the rows that its tests name: a case that only they can show is no problem
 */
export const judge = (
  rows: readonly AttackRow[],
  results: readonly TestResult[],
  leftOut: ReadonlyMap<string, readonly string[]> = new Map(),
): Verdict => {
  const known = new Set(rows.map(({ id }) => id));
  const tests = results.flatMap((test) => rowsOfTitle(test.title).map((id) => ({ ...test, id })));
  const filesOf = (id: string): readonly string[] =>
    [...leftOut].filter(([, ids]) => ids.includes(id)).map(([file]) => file);
  const judged = rows.flatMap((row) => row.cases.map((it) => judgeCase(row, it, tests)));
  const isNotRun = ({ ok, row }: Judged): boolean => !ok && filesOf(row.id).length > 0;
  const cases = judged.filter((one) => !isNotRun(one));
  const notRun = judged
    .filter(isNotRun)
    .map(({ row, case: it }) => ({ row, case: it, files: filesOf(row.id) }));
  const problems = [
    ...tests.flatMap((test) => {
      const where = `${test.file}: ${test.title}`;
      if (!known.has(test.id)) return [`${where}: there is no row ${test.id} in test/attacks/rows.ts`];
      if (test.state === 'failed') return [`${where}: failed`];
      const said = test.state === 'passed' ? unseen(test.title, test.answers) : undefined;
      return said === undefined ? [] : [`${where}: it passed, but no assertion was about ${said}`];
    }),
    ...cases
      .filter(({ ok }) => !ok)
      .map(({ row, case: it, files, answered }) => {
        const what = [row.id, it.title].filter(Boolean).join(', ');
        return files.length === 0
          ? `${what}: no test that ran shows ${it.expect}`
          : `${what}: expected ${it.expect}, the tests saw ${answered || 'no code'}`;
      }),
  ];
  return { cases, notRun, problems: [...new Set(problems)] };
};

const judgeCase = (
  row: AttackRow,
  it: AttackCase,
  tests: readonly (TestResult & { readonly id: string })[],
): Judged => {
  const mine = tests.filter(
    ({ id, title, state }) => id === row.id && state === 'passed' && title.includes(it.title ?? ''),
  );
  const showing = mine.filter(({ answers }) => answers.includes(it.expect));
  const shown = showing.length > 0 ? showing : mine;
  return {
    row,
    case: it,
    answered:
      showing.length > 0 ? it.expect : [...new Set(mine.flatMap(({ answers }) => answers))].join(', '),
    files: [...new Set(shown.map(({ file }) => file))],
    ok: showing.length > 0,
  };
};
