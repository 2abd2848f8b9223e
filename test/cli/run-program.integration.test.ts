import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '#bundles/version';

type Result = { readonly stdout: string; readonly stderr: string; readonly exitCode: number };

const fixture = (file: string): string =>
  fileURLToPath(new URL(`../fixtures/program/${file}`, import.meta.url));

const start = (file: string, args: readonly string[], input = ''): Promise<Result> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [fixture(file), ...args], (error, stdout, stderr) => {
      resolve({ stdout, stderr, exitCode: error ? Number(error.code) : 0 });
    });
    child.stdin?.end(input);
  });

const LINES = [
  'greet world',
  'greet world --json --now 2026-11-21T08:00:00Z',
  'greet world --now tomorrow',
  'greet',
  'greet world --nope',
  'greet world --nope --json',
  'greet world --times x',
  'greet world again',
  'refuse',
  'refuse --json',
  'sites refuse',
  'break bug --json',
  'break disk',
  'break abort',
  'nope',
  'nope --json',
  'sites nope',
  'sites refsue',
  'gret world',
  'greet world --tmies 2',
  '--version',
  '--help',
  'greet --help',
  'sites',
  'sites --json',
  'sites --help',
  'help sites',
  '',
] as const;

const results = new Map<string, Result>();
const run = (line: (typeof LINES)[number]): Result => results.get(line) as Result;

beforeAll(async () => {
  const list = JSON.stringify(LINES.map((line) => line.split(' ').filter(Boolean)));
  const { stdout, stderr } = await start('run-each.ts', [list]);
  expect(stderr).toBe('');
  for (const [index, result] of (JSON.parse(stdout) as Result[]).entries())
    results.set(LINES[index] ?? '', result);
}, 300_000);

describe('a program', () => {
  it('prints its result on stdout and its log on stderr', () => {
    expect(run('greet world')).toEqual({ stdout: 'hello world\n', stderr: 'greeting\n', exitCode: 0 });
  });

  it('prints JSON and nothing else with --json', () => {
    const { stdout, stderr, exitCode } = run('greet world --json --now 2026-11-21T08:00:00Z');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(JSON.parse(stdout)).toEqual({ text: 'hello world', now: '2026-11-21T08:00:00.000Z' });
  });

  it('prints its version and its help, with exit code 0', () => {
    expect(run('--version').stdout).toContain(`fleet-fixture/${VERSION}`);
    expect(run('--help').stdout).toContain('A program for tests.');
    expect(run('greet --help').stdout).toContain('fleet-fixture greet NAME');
    expect(run('sites --help').stdout).toContain('sites refuse');
    for (const line of ['--version', '--help', 'greet --help', 'sites --help', 'help sites', ''] as const) {
      expect(run(line).exitCode).toBe(0);
    }
  });
});

describe('an invalid command line', () => {
  it.each([
    ['greet world --nope', 'there is no flag --nope. See --help.'],
    ['greet', 'the argument NAME is missing. See --help.'],
    ['greet world again', 'there are too many arguments: again. See --help.'],
    ['greet world --times x', '--times requires a whole number, not "x". See --help.'],
    ['greet world --now tomorrow', '--now "tomorrow" is not a time. Write it like 2026-11-21T08:00:00Z.'],
    ['greet world --tmies 2', 'there is no flag --tmies. Did you mean --times? See --help.'],
    ['gret world', 'there is no command "gret world". Did you mean greet? See fleet-fixture --help.'],
    [
      'sites refsue',
      'there is no command "sites refsue". Did you mean sites refuse? See fleet-fixture --help.',
    ],
    ['nope', 'there is no command "nope". See fleet-fixture --help.'],
    ['sites', 'sites is incomplete. It is followed by refuse. See fleet-fixture sites --help.'],
    ['sites nope', 'there is no command "sites nope". See fleet-fixture --help.'],
  ] as const)('%s ends with 2 and one line', (line, text) => {
    expect(run(line)).toEqual({ stdout: '', stderr: `fleet-fixture: USAGE: ${text}\n`, exitCode: 2 });
  });

  it.each(['greet world --nope --json', 'nope --json', 'sites --json'] as const)(
    '%s is reported in JSON',
    (line) => {
      const { stdout, stderr, exitCode } = run(line);
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 2 });
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'USAGE', retryable: false } });
    },
  );
});

describe('standard input', () => {
  it('is not read as a missing argument: it may be the list that a shell loop reads', async () => {
    expect(await start('main.ts', ['greet'], 'world\n')).toEqual(run('greet'));
  });
});

describe('a refusal', () => {
  it('is one line with its place and what to do, and the exit code of the catalogue', () => {
    const stderr = 'fleet-fixture: platform.yaml:3:7: NAME_CLASH: Template a: is there twice. Rename one.\n';
    expect(run('refuse')).toEqual({ stdout: '', stderr, exitCode: 3 });
    expect(run('sites refuse')).toEqual(run('refuse'));
  });

  it('is reported in JSON with all its parts', () => {
    const { stdout, stderr, exitCode } = run('refuse --json');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 3 });
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'NAME_CLASH',
        message: 'is there twice',
        subject: 'Template a',
        at: { file: 'platform.yaml', line: 3, column: 7 },
        hint: 'Rename one',
        retryable: false,
      },
    });
  });

  it('for a cause in the machine has exit code 6', () => {
    expect(run('break disk')).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('DISK_FULL: ') });
  });

  it('by Ctrl-C is ABORTED with exit code 1, without a stack trace', () => {
    expect(run('break abort')).toEqual({
      stdout: '',
      stderr: 'fleet-fixture: ABORTED: stopped\n',
      exitCode: 1,
    });
  });

  it('never shows a stack trace', () => {
    for (const { stdout, stderr } of results.values()) expect(stdout + stderr).not.toMatch(/^\s+at /m);
  });
});

describe('a reader that closes stdout', () => {
  it('is not an error: the program exits with 0', async () => {
    const child = spawn(process.execPath, [fixture('main.ts'), 'greet', 'world', '--times', '300000']);
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += String(text);
    });
    const [exitCode] = await once(child, 'close');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'greeting\n' });
  });
});

it('a result that cannot be written is one message, with the exit code of a full disk', async () => {
  await using full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [fixture('main.ts'), 'greet', 'world'], {
    stdio: ['ignore', full.fd, 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += String(text);
  });
  const [exitCode] = await once(child, 'close');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 6,
    stderr:
      'greeting\nfleet-fixture: DISK_FULL: writing to standard output: ENOSPC: no space left on device, write. ' +
      'Free some space (df), or inodes (df -i), and run it again; nothing was lost.\n',
  });
});

describe('a bug', () => {
  it('exits a real process with 1, and prints the stack trace', async () => {
    const { stdout, stderr, exitCode } = await start('main.ts', ['break', 'bug']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
    expect(stderr).toMatch(/^fleet-fixture: INTERNAL: undefined is not a fleet\nTypeError: .*\n {4}at /);
  });

  it('is reported in JSON without a stack trace', () => {
    expect(JSON.parse(run('break bug --json').stdout)).toEqual({
      error: { code: 'INTERNAL', message: 'undefined is not a fleet', retryable: false },
    });
  });
});
