import type { VitestReport } from './count-results.ts';

/** What tests of a run did with one version of a part. */
export type PartRecord = {
  /** As in parts.ts. */
  readonly part: string;
  readonly title: string;
  readonly version: string;
  readonly passed: number;
  readonly failed: number;
  /** Folders and files of test/ with these tests: 'integration/kubernetes'. */
  readonly areas: readonly string[];
};

/** Written at the end of a whole run, for docs/generate-compatibility.ts. */
export type RunRecord = {
  /** '2026-11-29' */
  readonly date: string;
  readonly run: 'npm test' | 'npm run test:long' | 'some files';
  readonly parts: readonly PartRecord[];
};

/** Counts the tests of each part that describeWith gave them. A test that was skipped did not run with it. */
export const recordParts = (
  { testResults }: VitestReport,
  describe: (part: string) => { readonly title: string; readonly version: string },
): readonly PartRecord[] => {
  const seen = new Map<string, { passed: number; failed: number; readonly areas: Set<string> }>();
  for (const { name, assertionResults } of testResults)
    for (const { status, meta } of assertionResults) {
      if (status !== 'passed' && status !== 'failed') continue;
      for (const part of meta?.parts ?? []) {
        const counts = seen.get(part) ?? { passed: 0, failed: 0, areas: new Set<string>() };
        counts[status] += 1;
        counts.areas.add(areaOf(name));
        seen.set(part, counts);
      }
    }
  return [...seen].map(([part, { passed, failed, areas }]) => ({
    part,
    ...describe(part),
    passed,
    failed,
    areas: [...areas].toSorted(),
  }));
};

/** 'integration/kubernetes' of '/x/test/integration/kubernetes/rights.test.ts'. */
const areaOf = (file: string): string => pathInTests(file).split('/').slice(0, -1).slice(0, 2).join('/');

/** 'integration/kubernetes/rights.test.ts' of the same. */
export const pathInTests = (file: string): string => {
  const [, path = file] = /\/test\/(?!.*\/test\/)(.*)$/.exec(file) ?? [];
  return path;
};
