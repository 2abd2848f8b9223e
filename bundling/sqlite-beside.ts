import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

const ADDON = 'better_sqlite3.node';
const SQLITE = '\0better-sqlite3';
const { resolve } = createRequire(import.meta.url);

/** The platform that a program is built for: `FLEET_ADDON` names it (linux-x64, linux-arm64, darwin-arm64, win32-x64), by default this machine's. */
export const addonPlatform = (): string =>
  process.env['FLEET_ADDON'] ?? `${process.platform}-${process.arch}`;

/**
 * better-sqlite3 looks for its add-on around its own folder, which a bundle does not have: it lies beside the file.
 */
export const sqliteBeside = (out: string): Plugin => {
  const library = dirname(resolve('better-sqlite3'));
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
      copyFileSync(join(library, '..', 'prebuilds', `${addonPlatform()}.node`), join(out, ADDON));
    },
  };
};
