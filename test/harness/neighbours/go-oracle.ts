import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Go program that answers each line of its input with one of JSON. */
export type GoOracle<Answer> = {
  readonly ask: (requests: readonly string[]) => readonly Answer[];
  /** Standard output of the program with these arguments. */
  readonly run: (args: readonly string[]) => string;
  readonly close: () => void;
};

export const hasGo = spawnSync('go', ['version']).status === 0;

/** Compiles the Go program in `folder`. */
export const buildGoOracle = <Answer>(folder: string): GoOracle<Answer> => {
  const place = mkdtempSync(join(tmpdir(), 'go-oracle-'));
  const program = join(place, 'oracle');
  const built = spawnSync('go', ['build', '-o', program, '.'], { cwd: folder, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`go build failed: ${built.stderr}`);
  const run = (args: readonly string[], input: string): string => {
    const { stdout, stderr, status } = spawnSync(program, args, {
      input,
      maxBuffer: 1 << 30,
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    });
    if (status !== 0) throw new Error(`the oracle failed: ${stderr}`);
    return stdout;
  };
  return {
    run: (args) => run(args, ''),
    ask: (requests) => {
      const answers = run([], `${requests.join('\n')}\n`)
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Answer);
      if (answers.length !== requests.length)
        throw new Error(`${answers.length} answers to ${requests.length} requests`);
      return answers;
    },
    close: () => rmSync(place, { recursive: true, force: true }),
  };
};
