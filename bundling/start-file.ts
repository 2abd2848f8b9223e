import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Plugin } from 'rolldown';
import { addonPlatform } from './sqlite-beside.ts';

const KEEP_COMPILED = "import('#cli/keep-compiled')";

/** What the first file of a program says in the checkout, and its replacement in the installed program. */
const WORDS = (name: string): readonly (readonly [checkout: string, built: string])[] => [
  ["import('./main.ts')", "import('./run-compiled.mjs')"],
  // An installed program brings no Node.
  [
    `Start it with "npx ${name}" in the checkout, which brings its own.`,
    'Install one where PATH finds it first.',
  ],
];

/**
 * Copies the first file of a program beside its bundle, main.cjs, with what runs that, and links the program's name to it; on Windows
 * `<name>.cmd` starts it. The file stays plain JavaScript, so that an older Node (and, for some, a shell) can parse it and report NODE_TOO_OLD.
 * @param file path from `root`, such as exporter/fleet-export.js
 */
export const startFile = (root: string, file: string, out: string, platform = addonPlatform()): Plugin => ({
  name: 'start-file',
  writeBundle: () => {
    const name = basename(file, '.js');
    const target = join(out, `${name}.mjs`);
    let text = WORDS(name).reduce(replaceOnce, readFileSync(join(root, file), 'utf8'));
    if (text.includes(KEEP_COMPILED)) {
      text = text.replace(KEEP_COMPILED, "import('./keep-compiled.mjs')");
      copyFileSync(join(root, 'cli/keep-compiled.js'), join(out, 'keep-compiled.mjs'));
    }
    copyFileSync(join(root, 'cli/run-compiled.js'), join(out, 'run-compiled.mjs'));
    writeFileSync(target, text);
    chmodSync(target, 0o755);
    if (platform.startsWith('win32')) {
      writeFileSync(join(out, `${name}.cmd`), `@node "%~dp0${name}.mjs" %*\r\n`);
      return;
    }
    // The name that people type. Node follows the link, so it finds what lies beside the file.
    const link = join(out, name);
    rmSync(link, { force: true });
    symlinkSync(basename(target), link);
  },
});

const replaceOnce = (text: string, [checkout, built]: readonly [string, string]): string => {
  const parts = text.split(checkout);
  if (parts.length !== 2) throw new Error(`the first file of a program does not say ${checkout} once`);
  return parts.join(built);
};
