import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunLine } from './kept-program.ts';
import { runOrFail } from './run-command.ts';

/**
 * Makes `<folder>/<name>` for the PATH of a script, which has its command lines run by `run`, one at a time, with the environment `env`.
 * The script pays no start of Node.
 */
export const shellProgram = async (
  folder: string,
  name: string,
  run: RunLine,
  env: NodeJS.ProcessEnv,
): Promise<AsyncDisposable> => {
  const file = join(folder, name);
  const [asked, answered] = [`${file}.asked`, `${file}.answered`];
  await runOrFail(['mkfifo', asked, answered]);
  await writeFile(file, `#!/bin/sh\nprintf '%s\\0' "$PWD" "$@" > '${asked}'\neval "$(cat '${answered}')"\n`);
  await chmod(file, 0o755);
  const answer = async (): Promise<void> => {
    for (;;) {
      const [cwd = '', ...words] = (await readFile(asked, 'utf8')).split('\0').slice(0, -1);
      if (cwd === '') return;
      const { code, stdout, stderr } = await run(cwd, words, env);
      await writeFile(answered, `printf %s ${quote(stdout)}\nprintf %s ${quote(stderr)} >&2\nexit ${code}\n`);
    }
  };
  const ended = answer();
  return {
    [Symbol.asyncDispose]: async () => {
      await writeFile(asked, '');
      await ended;
    },
  };
};

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
