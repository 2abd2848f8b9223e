import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProgram } from '../harness/run/find-program.ts';
import { programFile } from '../harness/run/program-file.ts';
import { runCommand } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '../..');
const LINE = `${process.execPath} ${programFile('exporter')} help exit-codes`;

describe.skipIf(findProgram('script') === undefined)('a table on a terminal', () => {
  it.each([60, 80])('fits %d columns', async (columns) => {
    await using folder = await temporaryDirectory('columns');
    const { stdout } = await runCommand(['script', '-qec', `stty cols ${columns}; ${LINE}`, '/dev/null'], {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color', NO_COLOR: '1' },
    });
    const lines = stdout.split(/\r?\n/);
    expect(lines[0]).toMatch(/^EXIT {2}MEANING +WHO ACTS$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
    expect(lines.length).toBeGreaterThan(10);
  });
});

it('a pipe gets each row as one line', async () => {
  const { COLUMNS: _, ...env } = process.env;
  const { stdout } = await runCommand(LINE.split(' '), { env });
  expect(stdout.trimEnd().split('\n')).toHaveLength(10);
});

it('no command aligns columns on its own', async () => {
  const found = [];
  for (const folder of [
    'agent/commands',
    'exporter/commands',
    'scheduler/commands',
    'scheduler/views',
    'scheduler/hub',
    'scheduler/release',
    'cli',
  ])
    for (const name of await readdir(join(ROOT, folder), { recursive: true }))
      if (name.endsWith('.ts') && /\.padEnd\(/.test(await readFile(join(ROOT, folder, name), 'utf8')))
        found.push(`${folder}/${name}`);
  expect(found, 'print a table of cli/format-table.ts').toEqual([]);
});
