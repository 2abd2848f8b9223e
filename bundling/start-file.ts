import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Plugin } from 'rolldown';
import { linkTo } from './link-to.ts';

/** What the first file of a program says in the checkout, and here. */
const WORDS = (name: string): readonly (readonly [checkout: string, built: string])[] => [
  ["import('#bundles/program/keep-compiled')", "import('./keep-compiled.mjs')"],
  ["import('./main.ts')", "import('./main.mjs')"],
  // Here is no Node to bring.
  [
    `Start it with "npx ${name}" in the checkout, which brings its own.`,
    'Install one where PATH finds it first.',
  ],
];

/**
 * The first file of a program as it is, with what it imports beside it: an older Node must be able to read it, a shell too, and
 * Node only keeps what it compiles after that was asked for.
 * @param file exporter/fleet-export.js
 */
export const startFile = (root: string, file: string, out: string): Plugin => ({
  name: 'start-file',
  writeBundle: () => {
    const name = basename(file, '.js');
    const target = join(out, `${name}.mjs`);
    writeFileSync(target, WORDS(name).reduce(replaceOnce, readFileSync(join(root, file), 'utf8')));
    copyFileSync(join(root, 'bundles/program/keep-compiled.js'), join(out, 'keep-compiled.mjs'));
    linkTo(target);
  },
});

const replaceOnce = (text: string, [checkout, built]: readonly [string, string]): string => {
  const parts = text.split(checkout);
  if (parts.length !== 2) throw new Error(`the first file of a program does not say ${checkout} once`);
  return parts.join(built);
};
