import type { VitestRun } from './run-vitest.ts';

/** Two runs of vitest as one: the results of both, and the worse ending. */
export const joinRuns = (one: VitestRun, other: VitestRun): VitestRun => ({
  report: one.report &&
    other.report && { testResults: [...one.report.testResults, ...other.report.testResults] },
  exitCode: one.exitCode || other.exitCode,
  isComplete: one.isComplete && other.isComplete,
});
