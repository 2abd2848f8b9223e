import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the real engine says to one request. */
export type Answer = {
  readonly output?: string;
  readonly error?: string;
  readonly halved?: boolean;
  readonly bytewise?: boolean;
  readonly noJson?: boolean;
};

export type Oracle = {
  /** Answers to requests, each a JSON object as main.go describes them. */
  readonly ask: (requests: readonly string[]) => readonly Answer[];
  readonly close: () => void;
};

export const hasGo = spawnSync('go', ['version']).status === 0;

/** Compiles the program that asks Go's text/template, the real sprig and the real yaml.v3. */
export const buildOracle = (): Oracle => {
  const folder = mkdtempSync(join(tmpdir(), 'go-templates-'));
  const program = join(folder, 'oracle');
  const built = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(`go build failed: ${built.stderr}`);
  return {
    ask: (requests) => {
      const { stdout, stderr, status } = spawnSync(program, {
        input: `${requests.join('\n')}\n`,
        maxBuffer: 1 << 30,
        encoding: 'utf8',
        env: { ...process.env, TZ: 'UTC' },
      });
      if (status !== 0) throw new Error(`the oracle failed: ${stderr}`);
      const answers = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Answer);
      if (answers.length !== requests.length)
        throw new Error(`${answers.length} answers to ${requests.length} requests`);
      return answers;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
};
