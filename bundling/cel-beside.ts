import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** What is used of CEL. It uses nothing else of this repository. */
export const CEL = join(import.meta.dirname, '../bundles/cel/library.ts');
export const CEL_FILE = 'cel.cjs';

const BESIDE = '\0cel';

/**
 * CEL is a bundle of its own beside the program, read when the first rule with an expression is met: most agents have none, and the text of
 * the program stays in their memory.
 */
export const celBeside = (): Plugin => ({
  name: 'cel-beside',
  resolveId: (source, importer) => {
    if (source === `./${CEL_FILE}`) return { id: source, external: true };
    return importer !== undefined && join(importer, '..', source) === CEL ? BESIDE : null;
  },
  load: (id) => (id === BESIDE ? `module.exports = require('./${CEL_FILE}');` : null),
});
