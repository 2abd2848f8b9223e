import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

const ADDON = 'better_sqlite3.node';
const SQLITE = '\0better-sqlite3';
const { resolve } = createRequire(import.meta.url);

/**
 * better-sqlite3 looks for its add-on around its own folder, which a bundle does not have: it lies beside the file.
 * `FLEET_ADDON` names its platform (linux-x64, linux-arm64).
 */
export const sqliteBeside = (out: string): Plugin => {
  const library = dirname(resolve('better-sqlite3'));
  const platform = process.env['FLEET_ADDON'] ?? `${process.platform}-${process.arch}`;
  return {
    name: 'sqlite-beside',
    resolveId: (source) => {
      if (source === 'better-sqlite3') return SQLITE;
      return source.endsWith(ADDON) ? { id: `./${ADDON}`, external: true } : null;
    },
    load: (id) =>
      id === SQLITE
        ? [
            `const create = require(${JSON.stringify(join(library, 'database.js'))});`,
            `module.exports = create(() => require('./${ADDON}'), false);`,
            `module.exports.SqliteError = require(${JSON.stringify(join(library, 'sqlite-error.js'))});`,
          ].join('\n')
        : null,
    writeBundle: () => {
      mkdirSync(out, { recursive: true });
      copyFileSync(join(library, '..', 'prebuilds', `${platform}.node`), join(out, ADDON));
    },
  };
};
