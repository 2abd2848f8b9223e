import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import type { TestResult } from './judge.ts';

/** Where `npm run attacks` wants the results to be written. */
export const RESULTS_FILE = 'FLEET_ATTACK_RESULTS';

/** What a run says of itself. */
export type Results = { readonly tests: readonly TestResult[]; readonly errors: readonly string[] };

const resultsOf = (module: TestModule): readonly TestResult[] =>
  [...module.children.allTests()].map((test) => ({
    file: relative(process.cwd(), module.moduleId),
    title: test.name,
    state: test.result().state,
    answers: test.meta().answers ?? [],
  }));

/** Writes every test with what it saw. */
export default class AttackReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const errors = [...modules.flatMap((module) => module.errors()), ...unhandled].map(
      ({ message }) => message,
    );
    const results: Results = { tests: modules.flatMap(resultsOf), errors };
    writeFileSync(process.env[RESULTS_FILE] ?? '/dev/null', JSON.stringify(results));
  }
}
