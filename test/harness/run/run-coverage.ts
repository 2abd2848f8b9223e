/**
 * `npm run coverage`: runs the unit and component tests, and prints for each top folder how many of its lines and branches they ran, and how many rows
 * of the attack table have a test. Ends with 1 when a test failed or a row has no test. Words go to vitest:
 * `npm run coverage -- --project integration` adds what the integration tests run in their own process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { formatTable } from '../../../bench/table.ts';
import { findAttackTests, isInProcess } from '../../attacks/find-attack-tests.ts';
import { ROWS } from '../../attacks/rows.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const ROOT = join(import.meta.dirname, '../../..');

type Count = { readonly total: number; readonly covered: number };
type Summary = Readonly<Record<string, { readonly lines: Count; readonly branches: Count }>>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const share = ({ total, covered }: Count): string =>
  total === 0 ? '-' : `${((100 * covered) / total).toFixed(1)} %`;

const add = (counts: readonly Count[]): Count => ({
  total: counts.reduce((sum, { total }) => sum + total, 0),
  covered: counts.reduce((sum, { covered }) => sum + covered, 0),
});

const printLines = (summary: Summary): void => {
  const files = Object.entries(summary).filter(([file]) => file !== 'total');
  const folders = Map.groupBy(files, ([file]) => relative(ROOT, file).split('/')[0] ?? '');
  const rows = [...folders, ['all', files] as const].map(([folder, found]) => {
    const lines = add(found.map(([, counts]) => counts.lines));
    const branches = add(found.map(([, counts]) => counts.branches));
    return [folder, String(lines.total), share(lines), share(branches)];
  });
  say(formatTable(['folder', 'lines', 'run', 'branches run'], rows));
};

/** @returns the rows without a test */
const printRows = (): readonly string[] => {
  const tests = [...findAttackTests()];
  const shown = new Set(tests.flatMap(([, ids]) => ids));
  const inProcess = new Set(tests.flatMap(([file, ids]) => (isInProcess(file) ? ids : [])));
  const withTest = ROWS.filter(({ id }) => shown.has(id));
  const withInProcess = ROWS.filter(({ id }) => inProcess.has(id));
  say(
    `attack table: ${ROWS.length} rows, ${withTest.length} with a test, ${withInProcess.length} with a unit or component test`,
  );
  return ROWS.filter(({ id }) => !shown.has(id)).map(({ id }) => id);
};

await using folder = await temporaryDirectory('coverage');
const vitest = spawn(
  join(ROOT, 'node_modules/.bin/vitest'),
  [
    'run',
    '--project=unit',
    '--project=component',
    '--coverage',
    '--coverage.reportOnFailure',
    `--coverage.reportsDirectory=${folder.path}`,
    // Counting lines makes tests several times slower, so no test here measures time.
    '--testTimeout=600000',
    '--hookTimeout=600000',
    ...process.argv.slice(2),
  ],
  { cwd: ROOT, stdio: 'inherit' },
);
const [code] = (await once(vitest, 'exit')) as [number | null];
const summary = await readFile(join(folder.path, 'coverage-summary.json'), 'utf8').catch(() => undefined);
if (summary !== undefined) printLines(JSON.parse(summary) as Summary);
const without = printRows();
for (const id of without) say(`no test names row ${id}`);
process.exitCode = code === 0 && without.length === 0 && summary !== undefined ? 0 : 1;
