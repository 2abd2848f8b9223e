import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type BuildOptions, defineConfig, type Plugin } from 'rolldown';
import { AS_FUNCTION, COMPILED_LATE } from './bundling/as-function.ts';
import { inAscii } from './bundling/in-ascii.ts';
import { kubeConfigAlone } from './bundling/kube-config-alone.ts';
import { CEL, CERTIFICATES, librariesBeside, type LibraryBeside } from './bundling/libraries-beside.ts';
import { licencesBeside } from './bundling/licences-beside.ts';
import { lazyNodeModules } from './bundling/lazy-node-modules.ts';
import { oneCopyOfImports } from './bundling/one-copy-of-imports.ts';
import { sbomBeside } from './bundling/sbom-beside.ts';
import { sqliteBeside } from './bundling/sqlite-beside.ts';
import { WITHOUT_MILO } from './bundling/without-milo.ts';
import { startFile } from './bundling/start-file.ts';

/**
 * `npm run bundle:agent`: the agent for machines without a checkout. dist/agent holds main.cjs (the whole program),
 * cel.cjs (CEL, for rules with an expression), certificates.cjs (sigstore's verifier, for policies by certificate), fleet-agent.mjs (checks the version of Node, then runs main.cjs), the link fleet-agent, the SQLite add-on
 * better_sqlite3.node, LICENCES.txt, and sbom.cdx.json. `FLEET_ADDON` names the platform of the add-on (linux-x64, linux-arm64); the rest is the same for all.
 *
 * What it leaves out and squeezes is for a daemon that sleeps most of the time: every module it evaluates, and the text
 * of the whole file, stay in its memory. `npm run bench idle-agent` says how much.
 */
const OUT = process.env['FLEET_BUNDLE_OUT'] ?? join(import.meta.dirname, 'dist', 'agent');
const { resolve } = createRequire(import.meta.url);

const UNDICI = '\0undici';
/** What is imported of undici, by us and by KubeConfig, and where it lies. */
const UNDICI_PARTS = {
  Agent: 'dispatcher/agent',
  Dispatcher: 'dispatcher/dispatcher',
  EnvHttpProxyAgent: 'dispatcher/env-http-proxy-agent',
  Pool: 'dispatcher/pool',
  ProxyAgent: 'dispatcher/proxy-agent',
  buildConnector: 'core/connect',
};

/**
 * undici's index evaluates all of it: fetch, WebSocket, caches, mocks. Here everybody gets the parts that are imported; an
 * import that is not in the list fails the build.
 */
const undiciInParts = (): Plugin => {
  const library = dirname(resolve('undici'));
  const path = (part: string): string => JSON.stringify(join(library, 'lib', `${part}.js`));
  return {
    name: 'undici-in-parts',
    resolveId: (source) => (source === 'undici' ? UNDICI : null),
    load: (id) =>
      id === UNDICI
        ? [
            ...Object.entries(UNDICI_PARTS).map(([name, part]) => `import ${name} from ${path(part)};`),
            `import api from ${path('api/index')};`,
            // As undici's own index does: `dispatcher.request(...)` is put onto the class.
            'Object.assign(Dispatcher.prototype, api);',
            `export { ${Object.keys(UNDICI_PARTS).join(', ')} };`,
          ].join('\n')
        : null,
  };
};

/** Several bundles in one folder, so one list of what is in all. */
const lists = [licencesBeside(OUT), sbomBeside('fleet-agent', OUT)];

const libraryOf = ({ module, file }: LibraryBeside): BuildOptions => ({
  input: module,
  platform: 'node',
  plugins: [...lists, lazyNodeModules(), inAscii()],
  output: {
    file: join(OUT, file),
    format: 'cjs',
    minify: AS_FUNCTION.minify,
  },
});

export default defineConfig([
  {
    input: 'agent/bundled-main.ts',
    platform: 'node',
    optimization: COMPILED_LATE,
    transform: WITHOUT_MILO,
    plugins: [
      sqliteBeside(OUT),
      librariesBeside([CEL, CERTIFICATES]),
      startFile(import.meta.dirname, 'agent/fleet-agent.js', OUT),
      ...lists,
      kubeConfigAlone(),
      undiciInParts(),
      lazyNodeModules(),
      oneCopyOfImports(),
      inAscii(),
    ],
    output: {
      file: join(OUT, 'main.cjs'),
      ...AS_FUNCTION,
    },
  },
  libraryOf(CEL),
  libraryOf(CERTIFICATES),
]);
