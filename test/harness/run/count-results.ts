/** The part of vitest's JSON report that counts. `pending` is what vitest's reporter calls a skipped test. */
export type VitestReport = {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      /** What tests and their set-up noted. */
      readonly meta?: { readonly parts?: readonly string[] };
    }[];
  }[];
};

/** How describeWith marks a group that lacks a part. */
export const SKIPPED = ' (skipped: ';

export type Counts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What was skipped and how often: a group that lacks a part by its own title, any other test by its full one. */
  readonly skippedTitles: ReadonlyMap<string, number>;
};

/**
 * Sums a vitest run. A file that could not be loaded, or whose set-up failed, has no failed test of its own and counts
 * as one; so does a run that ended badly without a failed test, and a run without a report or without any test.
 */
export const countResults = (report: VitestReport | undefined, exitCode: number): Counts => {
  const skippedTitles = new Map<string, number>();
  let [passed, failed, skipped] = [0, 0, 0];
  for (const file of report?.testResults ?? []) {
    const before = failed;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') passed += 1;
      else if (test.status === 'failed') failed += 1;
      else {
        skipped += 1;
        const [outermost = ''] = test.ancestorTitles;
        const title = outermost.includes(SKIPPED)
          ? outermost
          : [...test.ancestorTitles, test.title].join(' > ');
        skippedTitles.set(title, (skippedTitles.get(title) ?? 0) + 1);
      }
    }
    if (file.status === 'failed' && failed === before) failed += 1;
  }
  if (failed === 0 && (exitCode !== 0 || passed + skipped === 0)) failed = 1;
  return { passed, failed, skipped, skippedTitles };
};

/** The last line of a run. */
export const formatCounts = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;
