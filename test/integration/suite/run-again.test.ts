import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countResults, formatCounts } from '../../harness/run/count-results.ts';
import { joinRuns } from '../../harness/run/join-runs.ts';
import { runFailedAgain, type SettledRun } from '../../harness/run/run-again.ts';
import { runVitest, type VitestRun } from '../../harness/run/run-vitest.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

type File = NonNullable<VitestRun['report']>['testResults'][number];

const file = (name: string, ...tests: readonly string[]): File => ({
  name,
  status: tests.includes('failed') ? 'failed' : 'passed',
  assertionResults: tests.map((status, at) => ({ status, ancestorTitles: ['a walk'], title: `step ${at}` })),
});
const run = (...files: readonly File[]): VitestRun => ({
  report: { testResults: files },
  exitCode: files.some(({ status }) => status === 'failed') ? 1 : 0,
  isComplete: true,
});
const summary = ({ report, exitCode, unsteady }: SettledRun) => ({
  counts: formatCounts(countResults(report, exitCode)),
  unsteady,
});
const failures = (number: number): readonly File[] =>
  Array.from({ length: number }, (_, at) => file(`${at}.test.ts`, 'failed'));

describe('a run in which tests failed', () => {
  test('repeats each failed file, and counts and names the tests that pass then', async () => {
    const again: string[] = [];
    const first = run(file('steady', 'passed', 'pending'), file('walk', 'passed', 'failed', 'failed'));
    const settled = await runFailedAgain(first, async (name) => {
      again.push(name);
      return run(file(name, 'passed', 'passed', 'passed'));
    });
    expect(again).toEqual(['walk']);
    expect(summary(settled)).toEqual({
      counts: '4 passed, 0 failed, 1 skipped',
      unsteady: ['walk > a walk > step 1', 'walk > a walk > step 2'],
    });
  });

  test('fails when a test fails twice, or another one fails in the repetition', async () => {
    for (const second of [
      ['passed', 'failed'],
      ['failed', 'passed'],
    ]) {
      const first = run(file('walk', 'passed', 'failed'), file('other', 'failed'));
      const settled = await runFailedAgain(first, async (name) =>
        run(name === 'other' ? file(name, 'passed') : file(name, ...second)),
      );
      expect(summary(settled)).toEqual({
        counts: '2 passed, 1 failed, 0 skipped',
        unsteady: ['other > a walk > step 0'],
      });
    }
  });

  test('names a file that did not load', async () => {
    const broken = { ...file('broken'), status: 'failed' };
    const settled = await runFailedAgain(run(broken), async (name) => run(file(name, 'passed')));
    expect(summary(settled)).toEqual({ counts: '1 passed, 0 failed, 0 skipped', unsteady: ['broken'] });
    const skipped = await runFailedAgain(run(broken), async (name) => run(file(name, 'pending')));
    expect(summary(skipped).counts).toBe('0 passed, 1 failed, 0 skipped');
  });

  test('fails when the repetition ends badly', async () => {
    const good = run(file('walk', 'passed'));
    for (const bad of [
      { ...good, isComplete: false },
      { ...good, exitCode: 1 },
      { ...good, report: undefined },
      run(),
    ])
      expect(summary(await runFailedAgain(run(file('walk', 'failed')), async () => bad))).toEqual({
        counts: '0 passed, 1 failed, 0 skipped',
        unsteady: [],
      });
  });

  test('is not repeated with more than five failed files, errors outside of tests, or no report', async () => {
    const never = async (): Promise<VitestRun> => {
      throw new Error('it ran again');
    };
    const runs = [
      run(...failures(6)),
      { ...run(...failures(1)), isComplete: false },
      { report: undefined, exitCode: 1, isComplete: true },
      { ...run(file('a', 'passed')), exitCode: 1, isComplete: false },
      run(file('a', 'passed')),
    ];
    for (const one of runs) expect(await runFailedAgain(one, never)).toEqual({ ...one, unsteady: [] });
    const five = await runFailedAgain(run(...failures(5)), async (name) => run(file(name, 'passed')));
    expect(summary(five).counts).toBe('5 passed, 0 failed, 0 skipped');
  });
});

describe('vitest', () => {
  const repository = join(import.meta.dirname, '../../..');

  test('is repeated, and a test that passes then is counted as passed', async () => {
    await using folder = await temporaryDirectory();
    const at = (name: string): string => join(folder.path, name);
    await mkdir(at('t'));
    await writeFile(at('vitest.config.mjs'), 'export default { test: { globals: true } };');
    await writeFile(
      at('t/once.test.js'),
      `import { existsSync, appendFileSync } from 'node:fs';
      const before = existsSync(${JSON.stringify(at('runs'))});
      appendFileSync(${JSON.stringify(at('runs'))}, 'x');
      it('needs what an earlier run left', () => expect(before).toBe(true));`,
    );
    await writeFile(at('t/never.test.js'), `it('fails', () => expect(1).toBe(2));`);
    await writeFile(at('t/always.test.js'), `it('passes', () => expect(1).toBe(1));`);
    const vitest = (...words: readonly string[]) =>
      runVitest({ repository, cwd: folder.path, env: process.env, output: 'ignore', words });
    const settled = await runFailedAgain(await vitest(), (name) => vitest(name));
    expect(summary(settled)).toEqual({
      counts: '2 passed, 1 failed, 0 skipped',
      unsteady: [`${at('t/once.test.js')} > needs what an earlier run left`],
    });
    expect(await readFile(at('runs'), 'utf8')).toBe('xx');
  });

  test('reports errors outside of tests', async () => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'vitest.config.mjs'), 'export default { test: { globals: true } };');
    const stray = `it('passes', async () => { void Promise.reject(new Error('lost')); });`;
    await writeFile(join(folder.path, 'stray.test.js'), stray);
    const { exitCode, isComplete } = await runVitest({
      repository,
      cwd: folder.path,
      env: process.env,
      output: 'ignore',
      words: [],
    });
    expect({ exitCode, isComplete }).toEqual({ exitCode: 1, isComplete: false });
  });
});

test('joinRuns has the results of both runs, and fails if one failed or ended early', () => {
  const good = run(file('a.test.ts', 'passed'));
  const bad = run(file('b.test.ts', 'failed', 'passed'));
  const counted = ({ report, exitCode }: VitestRun) => formatCounts(countResults(report, exitCode));
  expect(counted(joinRuns(good, good))).toBe('2 passed, 0 failed, 0 skipped');
  for (const joined of [joinRuns(good, bad), joinRuns(bad, good)])
    expect([counted(joined), joined.exitCode]).toEqual(['2 passed, 1 failed, 0 skipped', 1]);
  const unfinished = joinRuns({ ...good, isComplete: false }, good);
  expect([unfinished.isComplete, unfinished.exitCode]).toEqual([false, 0]);
  const lost = joinRuns(good, { report: undefined, exitCode: 1, isComplete: false });
  expect(counted(lost)).toBe('0 passed, 1 failed, 0 skipped');
});
