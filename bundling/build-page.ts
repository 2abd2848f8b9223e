import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { build, type Rolldown } from 'vite';
import { licencesBeside } from './licences-beside.ts';
import { sbomBeside } from './sbom-beside.ts';

const PAGE = join(import.meta.dirname, '../scheduler/page');

/** Where `serve` looks for the page, from the root of the checkout or of the built scheduler. */
const BUILT = 'scheduler/page/dist';

/** Builds the page of the hub: index.html, and assets whose names have the hash of their content. */
export const buildPage = async (out: string): Promise<void> => {
  await build({
    root: PAGE,
    base: '/ui/',
    configFile: false,
    logLevel: 'warn',
    // Also where NODE_ENV says otherwise: a test run would get React's development build.
    oxc: { jsx: { runtime: 'automatic', development: false } },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [licencesBeside(out) as never, sbomBeside('fleet-hub-page', out) as never],
    build: {
      outDir: out,
      emptyOutDir: true,
      // Data in addresses is content that the policy of the page would have to allow.
      assetsInlineLimit: 0,
      // In kB before compression. A test limits what a first visit transfers to 300 kB, of which the largest script is about 206.
      chunkSizeWarningLimit: 750,
      modulePreload: { polyfill: false },
      rolldownOptions: { onLog: (level, log, handle) => (isDirective(log) ? undefined : handle(level, log)) },
    },
  });
};

/** "use client" of component libraries, which means nothing outside of a server that renders. */
const isDirective = ({ code, message }: Rolldown.RollupLog): boolean =>
  code === 'MODULE_LEVEL_DIRECTIVE' || message.includes('use client');

/** Lays the built page into a bundled scheduler, where page-routes.ts looks for it. */
export const pageBeside = (out: string): Plugin => ({
  name: 'page-beside',
  writeBundle: () => buildPage(join(out, BUILT)),
});

if (import.meta.main) await buildPage(join(import.meta.dirname, '..', BUILT));
