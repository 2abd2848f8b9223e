import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CODES } from '#bundles/errors';
import { findAttackTests, rowsOfTitle } from '../attacks/find-attack-tests.ts';
import { judge, type TestResult } from '../attacks/judge.ts';
import type { AttackRow } from '../attacks/row.ts';
import { ARCHIVES, ROWS } from '../attacks/rows.ts';

/** test/attacks/rows.ts, docs/attacks.md and the tests name the same rows. `npm run attacks` shows that they are true. */
const ROOT = join(import.meta.dirname, '..', '..');
const SECTION = readFileSync(join(ROOT, 'docs', 'attacks.md'), 'utf8');

const codesIn = (answer: string): readonly string[] =>
  [...answer.matchAll(/`([A-Z_]+)`|\b(ACCEPT)\b/g)].map(([, code, accept]) => code ?? accept ?? '');

describe('the attack table', () => {
  it('is shown row by row in docs/attacks.md', () => {
    const told = SECTION.split('\n').flatMap((line) => {
      const [, id, attack, answer] = /^\| ([A-Z]\d+) \| (.+) \| (.+) \|$/.exec(line) ?? [];
      return id === undefined ? [] : [{ id, attack, answer }];
    });
    expect(told).toEqual(ROWS.map(({ id, attack, answer }) => ({ id, attack, answer })));
  });

  it("shows in each answer exactly the codes that the row's cases expect", () => {
    for (const { id, answer, cases } of ROWS) {
      const expected = new Set(cases.map((it) => it.expect));
      // A positive that stands beside the refusals of a row needs no word.
      if (!codesIn(answer).includes('ACCEPT')) expected.delete('ACCEPT');
      expect([...new Set(codesIn(answer))].toSorted(), id).toEqual([...expected].toSorted());
    }
  });

  it('lists the archive attacks as rows and in one summary line with the same codes', () => {
    const line = SECTION.split('\n').find((it) => it.startsWith('| T | ')) ?? '';
    const said = new Set(codesIn(line.split('|')[3] ?? ''));
    const answers = new Set(ARCHIVES.flatMap(({ cases }) => cases.map((it) => it.expect)));
    expect([...said].filter((code) => !answers.has(code as never))).toEqual([]);
    expect(ARCHIVES).toHaveLength(30);
  });

  it('has unique ids, names, cases, and only existing codes', () => {
    const ids = ROWS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { name, attack, cases } of ROWS) {
      expect(name).not.toBe('');
      expect(attack).not.toMatch(/[|\n]/);
      expect(cases.length).toBeGreaterThan(0);
      for (const { expect: code } of cases) expect([...Object.keys(CODES), 'ACCEPT']).toContain(code);
    }
  });

  it('has a test for every row, and a row for every test that claims one', () => {
    const claimed = new Map(
      [...findAttackTests()].flatMap(([file, ids]) => ids.map((id) => [id, file] as const)),
    );
    expect([...claimed].filter(([id]) => !ROWS.some((row) => row.id === id))).toEqual([]);
    expect(ROWS.filter(({ id }) => !claimed.has(id)).map(({ id }) => id)).toEqual([]);
  });

  it('has the words of each case in a file with a test of its row', () => {
    const texts = [...findAttackTests()].map(
      ([file, ids]) => [ids, readFileSync(join(ROOT, file), 'utf8')] as const,
    );
    const unshown = ROWS.flatMap(({ id, cases }) => {
      const own = texts.filter(([ids]) => ids.includes(id)).map(([, text]) => text);
      const isShown = (words = ''): boolean => own.some((text) => text.includes(words.replace(/ ->$/, '')));
      return cases.filter(({ title }) => !isShown(title)).map(({ title }) => `${id}: ${title}`);
    });
    expect(unshown).toEqual([]);
  });
});

describe('the judge of the attack table', () => {
  const row: AttackRow = {
    id: 'M5',
    name: 'payload flip',
    attack: 'changing the text',
    answer: '`BAD_SIGNATURE`',
    cases: [{ expect: 'BAD_SIGNATURE' }],
  };
  const test = (change: Partial<TestResult>): TestResult => ({
    file: 'a.test.ts',
    title: 'M5: payload flip -> BAD_SIGNATURE',
    state: 'passed',
    answers: ['BAD_SIGNATURE'],
    ...change,
  });
  const problems = (...tests: readonly TestResult[]): readonly string[] => judge([row], tests).problems;

  it('reports no problem when a test passed and saw the expected code', () => {
    expect(judge([row], [test({})])).toMatchObject({
      problems: [],
      cases: [{ ok: true, answered: 'BAD_SIGNATURE', files: ['a.test.ts'] }],
    });
  });

  it('reports a row without a test, or whose test was skipped', () => {
    expect(problems()).toEqual(['M5: no test that ran shows BAD_SIGNATURE']);
    expect(problems(test({ state: 'skipped', answers: [] }))).toEqual([
      'M5: no test that ran shows BAD_SIGNATURE',
    ]);
  });

  it('reports a failed test, even when another test of the row passed', () => {
    expect(problems(test({}), test({ file: 'b.test.ts', state: 'failed' }))).toEqual([
      'b.test.ts: M5: payload flip -> BAD_SIGNATURE: failed',
    ]);
  });

  it('uses the code that the test saw, not the code in its title', () => {
    expect(problems(test({ answers: ['UNKNOWN_KEY'] }))).toEqual([
      'a.test.ts: M5: payload flip -> BAD_SIGNATURE: it passed, but no assertion was about BAD_SIGNATURE',
      'M5: expected BAD_SIGNATURE, the tests saw UNKNOWN_KEY',
    ]);
    expect(problems(test({ answers: [] }))).toHaveLength(2);
  });

  it('reports a test with the id of a row that does not exist', () => {
    expect(problems(test({}), test({ title: 'M99: new' }))).toEqual([
      'a.test.ts: M99: new: there is no row M99 in test/attacks/rows.ts',
    ]);
  });

  it("matches a case only with tests whose title contains the case's words", () => {
    const two: AttackRow = {
      ...row,
      cases: [
        { expect: 'BAD_SIGNATURE', title: 'flip' },
        { expect: 'THRESHOLD', title: 'twice' },
      ],
    };
    const { problems: found } = judge([two], [test({ answers: ['BAD_SIGNATURE', 'THRESHOLD'] })]);
    expect(found).toEqual(['M5, twice: no test that ran shows THRESHOLD']);
  });

  it('lists a case whose tests are all outside this run, and does not report it', () => {
    const two: AttackRow = {
      ...row,
      cases: [
        { expect: 'BAD_SIGNATURE', title: 'once' },
        { expect: 'THRESHOLD', title: 'twice' },
      ],
    };
    const once = test({ title: 'M5: once -> BAD_SIGNATURE' });
    const leftOut = new Map([['b.integration.test.ts', ['M5']]]);
    expect(judge([two], [once], leftOut)).toMatchObject({
      cases: [{ case: { title: 'once' }, ok: true }],
      notRun: [{ case: { title: 'twice' }, files: ['b.integration.test.ts'] }],
      problems: [],
    });
    expect(judge([two], [once], new Map([['b.integration.test.ts', ['M6']]])).problems).toEqual([
      'M5, twice: no test that ran shows THRESHOLD',
    ]);
  });

  it('reports a failed test even when other tests did not run', () => {
    const failed = test({ state: 'failed' });
    const { problems: found } = judge([row], [failed], new Map([['b.integration.test.ts', ['M5']]]));
    expect(found).toEqual(['a.test.ts: M5: payload flip -> BAD_SIGNATURE: failed']);
  });

  it('reads the ids that a title begins with', () => {
    expect(rowsOfTitle('M15, M16: its release has expired')).toEqual(['M15', 'M16']);
    expect(rowsOfTitle('M9 with two signatures in it')).toEqual(['M9']);
    expect(rowsOfTitle('a title about M9: nothing')).toEqual([]);
  });
});
