import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../harness/run/find-program.ts';
import { programFile } from '../harness/run/program-file.ts';
import { runAgent } from '../harness/run/run-agent.ts';
import { runCommand, runOrFail, succeed } from '../harness/run/run-command.ts';
import { runExporter } from '../harness/run/run-exporter.ts';
import { runScheduler } from '../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../harness/run/temporary-directory.ts';

const PROGRAMS = {
  'fleet-export': programFile('exporter'),
  'fleet-scheduler': programFile('scheduler'),
  'fleet-agent': programFile('agent'),
} as const;
const KEPT = {
  'fleet-export': runExporter,
  'fleet-scheduler': runScheduler,
  'fleet-agent': runAgent,
} as const;
type Name = keyof typeof PROGRAMS;
const NAMES = Object.keys(PROGRAMS) as Name[];
const SHELLS = ['bash', 'zsh', 'fish'] as const;

let folder: TemporaryDirectory;
let env: NodeJS.ProcessEnv;
const scriptOf = (program: Name, shell: (typeof SHELLS)[number]): string =>
  join(folder.path, `${program}.${shell}`);

beforeAll(async () => {
  folder = await temporaryDirectory('completion');
  await writeFile(join(folder.path, 'stick.tar'), '');
  await writeFile(join(folder.path, 'my stick.tar'), '');
  const bin = join(folder.path, 'bin');
  await mkdir(bin);
  env = {
    ...process.env,
    HOME: folder.path,
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
  };
  for (const program of NAMES) {
    await symlink(PROGRAMS[program], join(bin, program));
    for (const shell of SHELLS) {
      const { stdout } = succeed(await KEPT[program](folder.path, ['completion', shell]));
      await writeFile(scriptOf(program, shell), stdout);
    }
  }
}, 300_000);

afterAll(() => folder[Symbol.asyncDispose]());

/** What bash offers for the last word, asked as it asks when somebody presses Tab. */
const inBash = async (program: Name, words: readonly string[]): Promise<readonly string[]> => {
  const quoted = [program, ...words].map((word) => `'${word}'`).join(' ');
  const text = [
    `source '${scriptOf(program, 'bash')}'`,
    `COMP_WORDS=(${quoted}) COMP_CWORD=${words.length}`,
    // Bash names the function that completes for this program.
    `read -ra told < <(complete -p ${program}); "\${told[2]}"`,
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ].join('\n');
  const { stdout } = await runOrFail(['bash', '--norc', '-u', '-c', text], { cwd: folder.path, env });
  return stdout.split('\n').filter(Boolean);
};

describe('completion in bash', () => {
  it('completes verbs, topics and the verbs of a topic', async () => {
    expect(await inBash('fleet-export', ['cr'])).toEqual(['create']);
    expect(await inBash('fleet-scheduler', ['roo'])).toEqual(['root']);
    expect(await inBash('fleet-scheduler', ['root', 'in'])).toEqual(['init', 'inspect', 'install']);
    expect(await inBash('fleet-agent', ['reports', ''])).toContain('export');
  });

  it('completes the flags of a verb and the common flags', async () => {
    expect(await inBash('fleet-export', ['create', '--'])).toEqual(
      expect.arrayContaining(['--from', '--to', '--no-read-back', '--progress', '--json', '--help']),
    );
    expect(await inBash('fleet-export', ['create', '--json', '--fr'])).toEqual(['--from']);
    // What is hidden is for tests.
    expect(await inBash('fleet-export', ['create', '--no'])).toEqual(['--no-read-back']);
  });

  it('completes the values of a flag or argument with a fixed list', async () => {
    expect(await inBash('fleet-export', ['create', '--progress', ''])).toEqual([
      'auto',
      'bar',
      'json',
      'none',
    ]);
    // As bash cuts '--progress=j' to pieces.
    expect(await inBash('fleet-export', ['create', '--progress', '=', 'j'])).toEqual(['json']);
    expect(await inBash('fleet-export', ['completion', 'z'])).toEqual(['zsh']);
  });

  it('completes files only where a path is expected', async () => {
    expect(await inBash('fleet-export', ['create', '--to', 's'])).toEqual(['stick.tar']);
    expect(await inBash('fleet-export', ['inspect', ''])).toEqual(
      expect.arrayContaining(['my stick.tar', 'stick.tar']),
    );
    expect(await inBash('fleet-export', ['create', '--site', ''])).toEqual([]);
  });
});

describe('completion of names', () => {
  const asked = async (at: string, ...words: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = succeed(await runScheduler(at, ['__complete', '--', ...words]));
    return stdout.split('\n').filter(Boolean);
  };

  it('offers environments, channels and workloads of the configured layout', async () => {
    const at = join(folder.path, 'platform');
    for (const line of ['init platform', 'root init --dev --fleet platform', 'build'])
      succeed(await runScheduler(line.startsWith('init') ? folder.path : at, line.split(' ')));
    expect(await asked(at, 'promote', '')).toEqual(['dev', 'prod', 'qa']);
    expect(await asked(at, 'status', '--environment=p')).toEqual(['--environment=prod']);
    expect(await asked(at, 'releases', 'list', '--channel', 'dev/edge-c')).toEqual(['dev/edge-cluster']);
    expect(await asked(at, 'where', 'hello-')).toEqual(['hello-cluster', 'hello-host']);
    expect(await asked(folder.path, 'where', '--config', 'platform/fleet-scheduler.yaml', 'hello-c')).toEqual(
      ['hello-cluster'],
    );
  });

  it('offers nothing, without an error, when no layout is configured', async () => {
    expect(await asked(folder.path, 'status', '--site', '')).toEqual([]);
  });
});

describe.skipIf(findProgram('fish') === undefined)('completion in fish', () => {
  const inFish = async (line: string): Promise<readonly string[]> => {
    const text = `source ${scriptOf('fleet-export', 'fish')}; complete -C '${line}'`;
    const { stdout } = await runOrFail(['fish', '--no-config', '-c', text], { cwd: folder.path, env });
    return stdout.split('\n').flatMap((word) => (word ? [word.split('\t')[0] ?? ''] : []));
  };

  it('completes verbs, flags, values and files, also after an equals sign', async () => {
    expect(await inFish('fleet-export cr')).toEqual(['create']);
    expect(await inFish('fleet-export create --json --fr')).toEqual(['--from']);
    expect(await inFish('fleet-export create --progress=j')).toEqual(['--progress=json']);
    expect(await inFish('fleet-export create --to=s')).toEqual(['--to=stick.tar']);
    expect(await inFish('fleet-export create --site ')).toEqual([]);
  });
});

describe('the completion scripts', () => {
  it.each(NAMES)('of %s are the same each time, and without terminal colours', async (program) => {
    const again = await runOrFail([process.execPath, PROGRAMS[program], 'completion', 'zsh', '--json']);
    const { script } = JSON.parse(again.stdout) as { script: string };
    const { stdout } = await runOrFail(['cat', scriptOf(program, 'zsh')]);
    expect(stdout).toBe(script);
    expect(script).not.toContain('\u001b');
  });

  it.for(SHELLS)('pass the syntax check of %s', async (shell, { skip }) => {
    const path = findProgram(shell);
    if (path === undefined) return skip(`${shell} is not installed`);
    for (const program of NAMES) {
      const { stderr, code } = await runCommand([path, '-n', scriptOf(program, shell)]);
      expect({ program, stderr, code }).toEqual({ program, stderr: '', code: 0 });
    }
  });
});
