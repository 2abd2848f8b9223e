import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { defineConfig, type Plugin } from 'rolldown';

/**
 * `npm run bundle:agent`: the agent as one file with its SQLite add-on beside it, for machines without a checkout:
 * dist/agent/fleet-agent.mjs and dist/agent/better_sqlite3.node. `FLEET_ADDON` names the platform of the add-on
 * (linux-x64, linux-arm64); the file itself is the same for all.
 */
const OUT = join(import.meta.dirname, 'dist', 'agent');
const FILE = 'fleet-agent.mjs';
const ADDON = 'better_sqlite3.node';
const platform = process.env['FLEET_ADDON'] ?? `${process.platform}-${process.arch}`;

const VIRTUAL = '\0better-sqlite3';

/** better-sqlite3 looks for its add-on around its own folder, which a bundle does not have: it lies beside the file. */
const sqliteBesideTheFile = (): Plugin => {
  const library = dirname(createRequire(import.meta.url).resolve('better-sqlite3'));
  return {
    name: 'sqlite-beside-the-file',
    resolveId: (source) => {
      if (source === 'better-sqlite3') return VIRTUAL;
      return source.endsWith(ADDON) ? { id: `./${ADDON}`, external: true } : null;
    },
    load: (id) =>
      id === VIRTUAL
        ? [
            `const create = require(${JSON.stringify(join(library, 'database.js'))});`,
            `module.exports = create(() => require('./${ADDON}'), false);`,
            `module.exports.SqliteError = require(${JSON.stringify(join(library, 'sqlite-error.js'))});`,
          ].join('\n')
        : null,
    writeBundle: () => {
      mkdirSync(OUT, { recursive: true });
      copyFileSync(join(library, '..', 'prebuilds', `${platform}.node`), join(OUT, ADDON));
      chmodSync(join(OUT, FILE), 0o755);
      // What people type. Node follows the link, so the add-on is found all the same.
      const link = join(OUT, 'fleet-agent');
      rmSync(link, { force: true });
      symlinkSync(FILE, link);
    },
  };
};

export default defineConfig({
  input: 'agent/bundled-main.ts',
  platform: 'node',
  plugins: [sqliteBesideTheFile()],
  output: {
    file: join(OUT, FILE),
    format: 'esm',
    codeSplitting: false,
    minify: false,
    banner: '#!/usr/bin/env node',
  },
});
