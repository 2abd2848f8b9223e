import { join } from 'node:path';
import { defineConfig } from 'rolldown';
import { oneFile } from './bundling/one-file.ts';
import { startFile } from './bundling/start-file.ts';

/**
 * `npm run build`: fleet-export and fleet-scheduler as they are installed, dist/exporter and dist/scheduler, each a folder that
 * needs nothing but Node and may lie anywhere. The checkout itself runs from its source, never from these.
 * `FLEET_BUNDLE_OUT` is where the folders are made instead.
 */
const ROOT = import.meta.dirname;
const OUT = process.env['FLEET_BUNDLE_OUT'] ?? join(ROOT, 'dist');

const programOf = (folder: string, name: string) => {
  const out = join(OUT, folder);
  const { plugins, ...options } = oneFile(ROOT, join(ROOT, folder, 'main.ts'), out, 'main.mjs');
  const start = startFile(ROOT, join(folder, `${name}.js`), out);
  return { ...options, plugins: [plugins, start] };
};

export default defineConfig([
  programOf('exporter', 'fleet-export'),
  programOf('scheduler', 'fleet-scheduler'),
]);
