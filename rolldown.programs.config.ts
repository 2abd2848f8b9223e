import { join } from 'node:path';
import { type BuildOptions, defineConfig, type Plugin } from 'rolldown';
import { AS_FUNCTION, COMPILED_LATE } from './bundling/as-function.ts';
import { pageBeside } from './bundling/build-page.ts';
import { filesBeside } from './bundling/files-beside.ts';
import { inAscii } from './bundling/in-ascii.ts';
import { licencesBeside } from './bundling/licences-beside.ts';
import { lazyNodeModules } from './bundling/lazy-node-modules.ts';
import { oneCopyOfImports } from './bundling/one-copy-of-imports.ts';
import { sbomBeside } from './bundling/sbom-beside.ts';
import { sqliteBeside } from './bundling/sqlite-beside.ts';
import { WITHOUT_MILO } from './bundling/without-milo.ts';
import { startFile } from './bundling/start-file.ts';

/**
 * `npm run build`: fleet-export and fleet-scheduler as they are installed, dist/exporter and dist/scheduler, each a folder that
 * needs nothing but Node and may lie anywhere. The checkout itself runs from its source, never from these.
 * `FLEET_BUNDLE_OUT` is where the folders are made instead.
 */
const ROOT = import.meta.dirname;
const OUT = process.env['FLEET_BUNDLE_OUT'] ?? join(ROOT, 'dist');

/** All that a program's modules need, as one file; beside it what cannot be in there: its first file, files it reads, SQLite. */
const programOf = (folder: string, name: string, more?: (out: string) => Plugin): BuildOptions => {
  const out = join(OUT, folder);
  return {
    cwd: ROOT,
    input: join(ROOT, folder, 'main.ts'),
    platform: 'node',
    optimization: COMPILED_LATE,
    transform: WITHOUT_MILO,
    plugins: [
      sqliteBeside(out),
      lazyNodeModules(),
      oneCopyOfImports(),
      filesBeside(ROOT, out),
      inAscii(),
      licencesBeside(out),
      sbomBeside(name, out),
      startFile(ROOT, join(folder, `${name}.js`), out),
      more?.(out),
    ],
    output: {
      dir: out,
      entryFileNames: 'main.cjs',
      ...AS_FUNCTION,
    },
  };
};

export default defineConfig([
  programOf('exporter', 'fleet-export'),
  programOf('scheduler', 'fleet-scheduler', pageBeside),
]);
