/**
 * `npm run attacks [-- --fast]`: runs every test of the attack table and prints the table with what was really answered. Ends with 1
 * when a row has no test, a test failed, one saw another answer than the table says, or one names a row that there is not.
 * `--fast`: only what needs neither a socket nor a process of its own; the cases that other tests show are listed as not run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formatTable } from '../../bench/table.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { findAttackTests, isInProcess } from './find-attack-tests.ts';
import { judge, type Verdict } from './judge.ts';
import { RESULTS_FILE, type Results } from './reporter.ts';
import { ROWS } from './rows.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { fast: { type: 'boolean', default: false } } });

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The real tests by the harness's own runner, with a reporter that writes what they saw. */
const runTests = async (files: readonly string[]): Promise<Results> => {
  await using folder = await temporaryDirectory('attacks');
  const results = join(folder.path, 'results.json');
  const words = [
    join(ROOT, 'test/harness/run-tests.ts'),
    ...['unit', 'component', ...(values.fast ? [] : ['integration'])].flatMap((project) => [
      '--project',
      project,
    ]),
    `--reporter=${join(import.meta.dirname, 'reporter.ts')}`,
    // Whole names: suites, then the title.
    String.raw`--testNamePattern=(^|\s)[A-Z]\d{1,2}(, [A-Z]\d{1,2})*(:|\s)`,
    ...files,
  ];
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    env: { ...process.env, [RESULTS_FILE]: results },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  await once(child, 'close');
  const text = await readFile(results, 'utf8').catch(() => undefined);
  if (text !== undefined) return JSON.parse(text) as Results;
  return { tests: [], errors: [`the tests did not run:\n${Buffer.concat(said).toString().slice(-3000)}`] };
};

const print = ({ cases, notRun, problems }: Verdict, errors: readonly string[]): void => {
  const lines = cases.map(({ row, case: it, answered, files, ok }) => [
    row.id,
    it.title === undefined ? row.name : `${row.name}: ${it.title.replace(/ ->$/, '')}`,
    row.attack,
    it.expect,
    ok ? answered : `WRONG: ${answered || 'nothing'}`,
    files[0] === undefined ? '-' : files[0] + (files.length > 1 ? ` and ${files.length - 1} more` : ''),
  ]);
  say(formatTable(['id', 'name', 'what the attacker does', 'expected', 'answered', 'test'], lines));
  const shown = cases.filter(({ ok }) => ok);
  const accepted = shown.filter((it) => it.case.expect === 'ACCEPT').length;
  const rows = new Set(cases.map(({ row }) => row.id)).size;
  say('');
  for (const { row, case: it, files } of notRun)
    say(
      `NOT RUN ${[row.id, it.title].filter(Boolean).join(', ')}: ${it.expect} is shown by ${files.join(', ')}`,
    );
  for (const problem of [...errors, ...problems]) say(`PROBLEM ${problem}`);
  say(
    `${rows} rows, ${cases.length} cases: ${shown.length} as expected (${accepted} of them accepted), ` +
      `${cases.length - shown.length} not; ${notRun.length} not run; ${problems.length + errors.length} problems`,
  );
};

const tests = findAttackTests();
const all = [...tests].filter(([file]) => !file.startsWith('test/e2e/'));
const files = all.map(([file]) => file).filter((file) => !values.fast || isInProcess(file));
const leftOut = new Map(all.filter(([file]) => !files.includes(file)));
say(`Running ${files.length} files of tests ...`);
const { tests: results, errors } = await runTests(files);
const verdict = judge(ROWS, results, leftOut);
print(verdict, errors);
if (verdict.problems.length + errors.length > 0) process.exitCode = 1;
