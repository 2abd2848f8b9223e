/**
 * `npm run conformance`: runs the tests of each line of the checklist and prints the lines with what they answered. Ends with 1 when a test
 * failed or a line's test was not found; the last line counts by version of Kubernetes. `--write` writes docs/applier.md and runs nothing.
 */
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { compareBytes } from '#bundles/digest';
import { formatTable } from '../../bench/table.ts';
import { runVitest } from '../harness/run/run-vitest.ts';
import { CARD, standingOf, writeCard } from './card.ts';
import { type Line, LINES } from './lines.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });

/** A test as vitest's JSON reporter lists it. */
type Ran = { readonly file: string; readonly fullName: string; readonly status: string };

const tests = LINES.flatMap((line) => line.tests ?? []);
const files = [...new Set(tests.map(([file]) => `test/${file}`))];
const titles = [...new Set(tests.map(([, title]) => title))].map((title) =>
  title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
);

const runTests = async (): Promise<readonly Ran[]> => {
  const projects = ['unit', 'component', 'integration'].flatMap((project) => ['--project', project]);
  const { report } = await runVitest({
    repository: ROOT,
    cwd: ROOT,
    env: process.env,
    words: [...projects, `--testNamePattern=(${titles.join('|')})`, ...files],
    output: 'inherit',
  });
  return (report?.testResults ?? []).flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status }) => ({
      file: relative(join(ROOT, 'test'), name),
      fullName: [...ancestorTitles, title].join(' > '),
      status,
    })),
  );
};

const resultOf = ({ tests = [] }: Line, ran: readonly Ran[]): string => {
  const found = tests.map(([file, title]) =>
    ran.filter(
      (one) =>
        one.file === file &&
        one.fullName.includes(title) &&
        (one.status === 'passed' || one.status === 'failed'),
    ),
  );
  const failed = found.flat().filter(({ status }) => status !== 'passed');
  if (failed[0]) return `FAILED: ${failed[0].fullName}`;
  const lost = tests.find((_, index) => found[index]?.length === 0);
  if (lost) return `NOT RUN: ${lost[1]}`;
  return tests.length === 0 ? '-' : `${found.flat().length} passed`;
};

/** Tests that passed, of those that ran, for each version of Kubernetes that titles name. */
const countVersions = (ran: readonly Ran[]): string => {
  const judged = ran.filter(({ status }) => status === 'passed' || status === 'failed');
  const groups = Map.groupBy(
    judged,
    ({ fullName }) => /Kubernetes \d\S*/.exec(fullName)?.[0] ?? 'without an API server',
  );
  return [...groups]
    .map(([version, tests]) => {
      const passed = tests.filter(({ status }) => status === 'passed').length;
      return `${version}: ${passed} of ${tests.length} passed`;
    })
    .toSorted(compareBytes)
    .join('; ');
};

if (values.write) await writeFile(join(ROOT, CARD), writeCard(LINES));
else {
  const ran = await runTests();
  const rows = LINES.map((line) => [
    line.id,
    line.what,
    standingOf(line),
    resultOf(line, ran),
    line.miss ?? '',
  ]);
  process.stdout.write(
    `${formatTable(['line', 'what', 'verdict', 'result', 'what does not hold'], rows)}\n${countVersions(ran)}\n`,
  );
  if (rows.some(([, , , result = '']) => /^(FAILED|NOT RUN)/.test(result))) process.exitCode = 1;
}
