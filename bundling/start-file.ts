import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Plugin } from 'rolldown';

/** What the first file of a program imports, in the checkout and here. */
const IMPORTS: readonly (readonly [checkout: string, built: string])[] = [
  ['#bundles/program/keep-compiled', './keep-compiled.mjs'],
  ['./main.ts', './main.mjs'],
];

/**
 * The first file of a program as it is, with what it imports beside it: an older Node must be able to read it, a shell too, and
 * Node only keeps what it compiles after that was asked for. And a link, the name that people type; Node follows it.
 * @param file exporter/fleet-export.js
 */
export const startFile = (root: string, file: string, out: string): Plugin => ({
  name: 'start-file',
  writeBundle: () => {
    const name = basename(file, '.js');
    const target = join(out, `${name}.mjs`);
    writeFileSync(target, IMPORTS.reduce(replaceImport, readFileSync(join(root, file), 'utf8')));
    chmodSync(target, 0o755);
    copyFileSync(join(root, 'bundles/program/keep-compiled.js'), join(out, 'keep-compiled.mjs'));
    const link = join(out, name);
    rmSync(link, { force: true });
    symlinkSync(basename(target), link);
  },
});

const replaceImport = (text: string, [checkout, built]: (typeof IMPORTS)[number]): string => {
  const parts = text.split(`import('${checkout}')`);
  if (parts.length !== 2) throw new Error(`the first file of a program does not import ${checkout} once`);
  return parts.join(`import('${built}')`);
};
