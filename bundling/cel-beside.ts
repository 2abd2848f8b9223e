import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** What is used of CEL. It uses nothing else of this repository. */
export const CEL = join(import.meta.dirname, '../bundles/cel/library.ts');
export const CEL_FILE = 'cel.cjs';

const BESIDE = '\0cel';
const PATH = `__dirname + "/${CEL_FILE}"`;

/**
 * CEL is a bundle of its own beside the program, read when the first rule with an expression is met: most agents have none, and the text of
 * the program stays in their memory. It is opened at the start, so that a daemon whose files an upgrade replaced reads that of its own version.
 */
export const celBeside = (): Plugin => ({
  name: 'cel-beside',
  resolveId: (source, importer) =>
    importer !== undefined && join(importer, '..', source) === CEL ? BESIDE : null,
  load: (id) =>
    id === BESIDE
      ? [
          `const { readFileSync } = require('node:fs');`,
          `const { compileFunction } = require('node:vm');`,
          `const text = readFileSync(openedCel, 'utf8');`,
          `compileFunction(text, ['exports', 'module'], { filename: ${PATH} })(module.exports, module);`,
        ].join('\n')
      : null,
  // A program without the file starts, and lacks it when it is needed.
  intro: () =>
    `let openedCel;try{openedCel=process.getBuiltinModule('node:fs').openSync(${PATH})}catch{openedCel=${PATH}}`,
});
