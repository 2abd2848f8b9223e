import type { VitestReport } from './count-results.ts';
import type { VitestRun } from './run-vitest.ts';

/** More failed files than this are no accident. */
const MOST_FILES = 5;

type File = VitestReport['testResults'][number];

export type SettledRun = VitestRun & {
  /** Tests that failed once and then passed, with their file: each is a bug to be mended. */
  readonly unsteady: readonly string[];
};

/**
 * Runs each file with a failed test again, alone: a whole file, because its tests may build on earlier ones. A file without
 * any failure in its second run counts as it went then; otherwise it has failed. A run with errors that belong to no file
 * stays as it is.
 */
export const runFailedAgain = async (
  first: VitestRun,
  runFile: (file: string) => Promise<VitestRun>,
): Promise<SettledRun> => {
  const failed = first.report?.testResults.filter(hasFailed) ?? [];
  if (first.report === undefined || !first.isComplete || failed.length === 0 || failed.length > MOST_FILES)
    return { ...first, unsteady: [] };
  const passed = new Map<string, File>();
  for (const { name } of failed) {
    const second = await runFile(name);
    const file = second.report?.testResults.find((one) => one.name === name);
    if (file && second.exitCode === 0 && second.isComplete && !hasFailed(file) && hasPassed(file))
      passed.set(name, file);
  }
  return {
    ...first,
    report: { testResults: first.report.testResults.map((file) => passed.get(file.name) ?? file) },
    exitCode: passed.size === failed.length ? 0 : first.exitCode,
    unsteady: failed.filter(({ name }) => passed.has(name)).flatMap(failedTitles),
  };
};

const hasFailed = ({ status, assertionResults }: File): boolean =>
  status === 'failed' || assertionResults.some((test) => test.status === 'failed');

const hasPassed = ({ assertionResults }: File): boolean =>
  assertionResults.some((test) => test.status === 'passed');

/** A file that did not load, or whose set-up failed, has no failed test: its name stands for it. */
const failedTitles = ({ name, assertionResults }: File): readonly string[] => {
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0) return [name];
  return tests.map(({ ancestorTitles, title }) => [name, ...ancestorTitles, title].join(' > '));
};
