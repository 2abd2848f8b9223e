import { join } from 'node:path';
import { defineConfig } from 'rolldown';
import { filesBeside } from '../../../bundling/files-beside.ts';
import { kubeConfigAlone } from '../../../bundling/kube-config-alone.ts';
import { lazyNodeModules } from '../../../bundling/lazy-node-modules.ts';
import { sqliteBeside } from '../../../bundling/sqlite-beside.ts';
import { bundledName, TEST_PROGRAMS } from './program-file.ts';

/** The programs that tests start and kill, with what they share in `FLEET_BUNDLE_OUT`: a start takes a third of the CPU time. */
const ROOT = join(import.meta.dirname, '../../..');
const OUT = process.env['FLEET_BUNDLE_OUT'] ?? join(ROOT, 'dist/test');

export default defineConfig({
  cwd: ROOT,
  input: Object.fromEntries(TEST_PROGRAMS.map((file) => [bundledName(file), join(ROOT, file)])),
  platform: 'node',
  plugins: [sqliteBeside(OUT), lazyNodeModules(), filesBeside(ROOT, OUT), kubeConfigAlone()],
  output: { dir: OUT, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs', format: 'esm' },
});
