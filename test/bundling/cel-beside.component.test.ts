import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { AS_FUNCTION } from '../../bundling/as-function.ts';
import { CEL, CEL_FILE, celBeside } from '../../bundling/cel-beside.ts';
import { lazyNodeModules } from '../../bundling/lazy-node-modules.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

type Program = { readonly parserOf: () => Promise<string> };

/** Starts a program that imports CEL when it is asked, as it lies in a folder. */
const start = async (folder: string): Promise<Program> => {
  const main = join(dirname(CEL), 'main.mjs');
  const build = await rolldown({
    input: main,
    platform: 'node',
    plugins: [
      {
        name: 'main',
        resolveId: (source) => (source === main ? source : null),
        load: (id) =>
          id === main ? "export const parserOf = async () => (await import('./library.ts')).parse;" : null,
      },
      celBeside(),
      lazyNodeModules(),
    ],
  });
  const { output } = await build.generate(AS_FUNCTION);
  const file = join(folder, 'main.cjs');
  const program = { exports: {} };
  runInThisContext(output[0].code)(program.exports, createRequire(file), program, file, folder);
  return program.exports as Program;
};

const put = (folder: string, version: string): void => {
  const file = join(folder, CEL_FILE);
  writeFileSync(`${file}.new`, `exports.parse = '${version}';`);
  renameSync(`${file}.new`, file);
};

it('gives a program whose files are replaced while it runs the CEL of its own version', async () => {
  await using folder = await temporaryDirectory('cel');
  put(folder.path, 'before');
  const program = await start(folder.path);
  put(folder.path, 'after');
  expect(await program.parserOf()).toBe('before');
  expect(await program.parserOf()).toBe('before');
  expect(await (await start(folder.path)).parserOf()).toBe('after');
});

it('starts a program without the file, which fails when it needs CEL', async () => {
  await using folder = await temporaryDirectory('cel');
  const program = await start(folder.path);
  await expect(program.parserOf()).rejects.toThrow(CEL_FILE);
});
