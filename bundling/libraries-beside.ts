import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** What is used of a library, which uses nothing else of this repository, and the file that it is built into. */
export type LibraryBeside = { readonly module: string; readonly file: string };

export const CEL: LibraryBeside = {
  module: join(import.meta.dirname, '../bundles/cel/library.ts'),
  file: 'cel.cjs',
};

/** Verifies certificates and logs of sigstore. */
export const CERTIFICATES: LibraryBeside = {
  module: join(import.meta.dirname, '../bundles/trust/images/certificate-library.ts'),
  file: 'certificates.cjs',
};

const BESIDE = '\0beside:';

/**
 * Each library is a bundle of its own beside the program, read when the first rule with an expression or the first policy by certificate is met:
 * most agents have none, and the text of the program stays in their memory. All are opened at the start, so that a daemon whose files an
 * upgrade replaced reads those of its own version.
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
    return [
      `const { readFileSync } = require('node:fs');`,
      `const { compileFunction } = require('node:vm');`,
      `const text = readFileSync(openedBeside[${file}], 'utf8');`,
      `compileFunction(text, ['exports', 'module'], { filename: __dirname + '/' + ${file} })(module.exports, module);`,
    ].join('\n');
  },
  // A program without such a file starts, and lacks it when it is needed.
  intro: () =>
    `const openedBeside={};for(const file of ${JSON.stringify(libraries.map(({ file }) => file))})try{openedBeside[file]=process.getBuiltinModule('node:fs').openSync(__dirname+'/'+file)}catch{openedBeside[file]=__dirname+'/'+file}`,
});
