import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** A library that is built into a file of its own. `module` re-exports what we use of it, and imports nothing else of this repository. */
export type LibraryBeside = { readonly module: string; readonly file: string };

export const CEL: LibraryBeside = {
  module: join(import.meta.dirname, '../bundles/cel/library.ts'),
  file: 'cel.cjs',
};

/** sigstore's verifier of certificates and log entries. */
export const CERTIFICATES: LibraryBeside = {
  module: join(import.meta.dirname, '../bundles/trust/images/certificate-library.ts'),
  file: 'certificates.cjs',
};

const BESIDE = '\0beside:';

/**
 * Builds each library into its own file beside the program. The program reads the file on the first import of the library: most agents have no
 * rule with an expression and no policy by certificate, and the text of a program stays in memory. The program opens all these files at its start,
 * so that a daemon still reads the files of its own version after an upgrade replaced them.
 */
export const librariesBeside = (libraries: readonly LibraryBeside[]): Plugin => ({
  name: 'libraries-beside',
  resolveId: (source, importer) => {
    const path = importer === undefined ? undefined : join(importer, '..', source);
    const found = libraries.find(({ module }) => module === path);
    return found ? BESIDE + found.file : null;
  },
  load: (id) => {
    if (!id.startsWith(BESIDE)) return null;
    const file = JSON.stringify(id.slice(BESIDE.length));
    // A getter loads the library: an error thrown by the module itself would be kept, and a later import could not try again. Each try reads from position 0.
    return [
      `const { fstatSync, readFileSync, readSync } = require('node:fs');`,
      `const { compileFunction } = require('node:vm');`,
      `const read = (file) => {`,
      `  if (typeof file === 'string') return readFileSync(file);`,
      `  const bytes = Buffer.alloc(fstatSync(file).size);`,
      `  readSync(file, bytes, 0, bytes.length, 0);`,
      `  return bytes;`,
      `};`,
      `let known;`,
      `const load = () => {`,
      `  const library = { exports: {} };`,
      `  const text = read(openedBeside[${file}]).toString('utf8');`,
      `  compileFunction(text, ['exports', 'module'], { filename: __dirname + '/' + ${file} })(library.exports, library);`,
      `  return library.exports;`,
      `};`,
      `Object.defineProperty(module, 'exports', { get: () => (known ??= load()) });`,
    ].join('\n');
  },
  // A program without such a file starts; each import of the library then fails with the file's path.
  intro: () =>
    `const openedBeside={};for(const file of ${JSON.stringify(libraries.map(({ file }) => file))})try{openedBeside[file]=process.getBuiltinModule('node:fs').openSync(__dirname+'/'+file)}catch{openedBeside[file]=__dirname+'/'+file}`,
});
