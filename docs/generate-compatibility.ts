import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareBytes } from '../bundles/digest.ts';
import { PART_NAMES, thisMachine } from '../test/harness/parts.ts';
import type { VitestReport } from '../test/harness/run/count-results.ts';
import { dayOf, describeParts, RUN_RECORD } from '../test/harness/run/record-run.ts';
import { pathInTests, recordParts, type RunRecord } from '../test/harness/run/record-parts.ts';

/**
 * `node docs/generate-compatibility.ts [FILE ...]`: adds runs to docs/compatibility.json and writes docs/compatibility.md. A file is what a whole run
 * wrote (by default that of the last one on this machine), or a report of `vitest run --reporter=json --outputFile=FILE`.
 */

/** The newest run of each kind with one version of a part; where only some files ran, of each of these files. */
export type Row = Omit<RunRecord, 'parts'> & RunRecord['parts'][number] & { readonly file?: string };

type Run = Omit<RunRecord, 'parts'> & {
  readonly parts: readonly (RunRecord['parts'][number] & Pick<Row, 'file'>)[];
};

const DATA = join(import.meta.dirname, 'compatibility.json');
const PAGE = join(import.meta.dirname, 'compatibility.md');

const lineOf = ({ part, version, run }: Row): string => [part, version, run].join('\n');

const keyOf = (row: Row): string => [lineOf(row), row.file].join('\n');

const testsOf = ({ passed, failed }: Row): number => passed + failed;

const NOT_KNOWN = 'not known';

/** With the rows of a run in place of older ones, of those of the same day with fewer tests, and of those whose version was not known then. */
export const addRun = (before: readonly Row[], { parts, ...run }: Run): readonly Row[] => {
  const all = [...before, ...parts.map((part) => ({ ...run, ...part }))];
  const byDate = all.toSorted((a, b) => a.date.localeCompare(b.date) || testsOf(a) - testsOf(b));
  const known = new Set(
    byDate.filter(({ version }) => version !== NOT_KNOWN).map((row) => keyOf({ ...row, version: NOT_KNOWN })),
  );
  const newest = new Map(byDate.map((row) => [keyOf(row), row]));
  const rows = [...newest.values()].filter((row) => row.version !== NOT_KNOWN || !known.has(keyOf(row)));
  const named = Map.groupBy(
    rows.filter(({ file }) => file !== undefined),
    lineOf,
  );
  // Records from before rows named their file may be of the same tests: none counts twice.
  const once = rows.filter(
    (row) =>
      row.run !== 'some files' ||
      row.file !== undefined ||
      !named.get(lineOf(row))?.some(({ areas }) => areas.some((area) => row.areas.includes(area))),
  );
  return once.toSorted(
    (a, b) =>
      a.title.localeCompare(b.title, 'en') ||
      b.version.localeCompare(a.version, 'en', { numeric: true }) ||
      a.run.localeCompare(b.run, 'en') ||
      compareBytes(a.file ?? '', b.file ?? ''),
  );
};

/** One line for a version of a part in each kind of run: what files ran for themselves is added up. */
const toLines = (rows: readonly Row[]): readonly Row[] =>
  [...Map.groupBy(rows, lineOf).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [others.reduce(joined, first)],
  );

const joined = (a: Row, b: Row): Row => ({
  ...a,
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  areas: [...new Set([...a.areas, ...b.areas])].toSorted(compareBytes),
  date: a.date < b.date ? b.date : a.date,
});

export const writeCompatibility = (rows: readonly Row[]): string => `# What was tested with what

Each line is a part that tests ran against, at the version that ran. It is written from the records of runs (\`node docs/generate-compatibility.ts\`), not by hand:
a version without a line was not run. "some files" are files that ran for themselves, mostly of the long run; the date is that of the newest of them. What each part is for is in [testing](testing.md).

| part | version | passed | failed | tests in | run | date |
| --- | --- | --- | --- | --- | --- | --- |
${toLines(rows)
  .map(
    ({ title, version, passed, failed, areas, run, date }) =>
      `| ${title} | ${version} | ${passed} | ${failed} | ${areas.join(', ')} | ${run} | ${date} |\n`,
  )
  .join('')}`;

export const readRows = (): readonly Row[] =>
  existsSync(DATA) ? (JSON.parse(readFileSync(DATA, 'utf8')) as readonly Row[]) : [];

type Report = VitestReport & { readonly startTime: number };

const readRun = async (file: string): Promise<Run> => {
  const found = JSON.parse(readFileSync(file, 'utf8')) as RunRecord | Report;
  if ('parts' in found) return found;
  const describe = await describeParts(PART_NAMES, thisMachine());
  return {
    date: dayOf(new Date(found.startTime)),
    run: 'some files',
    parts: found.testResults.flatMap((one) =>
      recordParts({ ...found, testResults: [one] }, describe).map((part) => ({
        ...part,
        file: pathInTests(one.name),
      })),
    ),
  };
};

if (import.meta.main) {
  const files = process.argv.slice(2);
  let rows = readRows();
  for (const file of files.length > 0 ? files : [join(thisMachine().cache, RUN_RECORD)])
    rows = addRun(rows, await readRun(file));
  writeFileSync(DATA, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(PAGE, writeCompatibility(rows));
}
