import { existsSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LONG } from './test/harness/run/long.ts';
import { cacheDirectory } from './test/harness/parts/cache-folder.ts';
import { compiledFolder } from './test/harness/run/compiled-folder.ts';
import { HUGE_PAGES } from './test/harness/run/huge-pages.ts';
import { PROGRAMS_VARIABLE } from './test/harness/run/program-file.ts';

/**
 * unit: memory alone. component (*.component.test.ts): one component with real files, databases and keys, in the process of the test.
 * integration: one real neighbour each, in test/integration, and beside the unit tests what needs a process or a socket
 * (*.integration.test.ts). e2e: the whole flow. LANES files of these two at a time. *.long.test.ts are files of the long run alone
 * (test/harness/run/long.ts). docs/testing.md explains the kinds.
 */
const MIRROR = 'test/{bundles,cli,scheduler,exporter,agent,bundling,docs}/**';
const COMPONENT = `${MIRROR}/*.component.test.ts`;
const OWN_NEIGHBOUR = `${MIRROR}/*.integration.test.ts`;

const LONG_ONLY = LONG ? [] : ['**/*.long.test.ts'];

/** What a program compiled to is kept from one start to the next: a run of all tests starts thousands. */
const COMPILED = {
  NODE_COMPILE_CACHE: compiledFolder(
    process.env[PROGRAMS_VARIABLE] || cacheDirectory(process.env),
    new Date(),
  ),
};

/** Node's permission model: a unit test that writes a file, opens a database or starts a process gets ERR_ACCESS_DENIED. */
const READ_ONLY = [
  '--permission',
  '--allow-fs-read=*',
  `--allow-fs-write=${join(COMPILED.NODE_COMPILE_CACHE, '*')}`,
  ...(process.argv.includes('--coverage')
    ? ['--allow-inspector', `--allow-fs-write=${join(tmpdir(), 'fleet-ferry-coverage-*')}`]
    : []),
];

/**
 * What a test writes need not survive anything: memory, where there is some to write to. On ext4 without a journal, a file created
 * where others were deleted a moment ago costs half a millisecond of the processor.
 */
const IN_MEMORY = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {};

/**
 * Files of integration and e2e at a time. The long ones wait most of their time for health checks, leases and booting hosts: a host that
 * reboots uses 0.2 of a core, a cluster 0.4. Each may need 2 GB.
 */
const LANES = Number(
  process.env['FLEET_LANES'] ?? Math.max(totalmem() < 12 * 2 ** 30 ? 4 : 6, availableParallelism()),
);

/**
 * Node itself runs the tests and what they import, as it runs the programs, without a transformation by Vite. No test replaces a module
 * (`vi.mock`), which would need the loader.
 */
const BY_NODE = { experimental: { viteModuleRunner: false, nodeLoader: false } };

/** How long `expect.poll` waits: a busy machine takes a while, and a condition that holds ends the wait. */
const PATIENT = { poll: { timeout: 60_000 } };

const ANY = {
  setupFiles: ['test/harness/run/seed-properties.ts', 'test/attacks/observe.ts'],
  ...BY_NODE,
  expect: PATIENT,
  env: { ...COMPILED, ...IN_MEMORY },
};

/** Tests in the processes of vitest. */
const IN_PROCESS = {
  ...ANY,
  // A property test on a machine that has other things to do may take a while; how long proves nothing.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  isolate: false,
  // One thread for file work per process: tests wait for each call anyway, and waking others costs more than it saves.
  env: { ...ANY.env, UV_THREADPOOL_SIZE: '1' },
  // vitest leaves one core free, which on two cores halves it.
  maxWorkers: Math.max(2, availableParallelism() - 1),
};

/**
 * Tests allocate much and keep little: a large young generation from the start means fewer collections, and helper threads for
 * each of them would only wait for the two processes that use the cores already.
 */
const HEAP = ['--min-semi-space-size=128', '--max-semi-space-size=128', '--single-threaded-gc'];

/** Tests with a real neighbour. One that takes longer than five minutes waits for something that will not come. */
const WITH_NEIGHBOURS = {
  ...ANY,
  execArgv: HEAP,
  env: { ...ANY.env, ...HUGE_PAGES },
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

export default defineConfig({
  // vitest starts the longest files first by the durations it keeps here; in node_modules a fresh clone would have none.
  cacheDir: join(cacheDirectory(process.env), 'vite'),
  test: {
    // `npm run coverage`. The page runs in a browser.
    coverage: {
      provider: 'v8',
      include: ['{bundles,cli,scheduler,exporter,agent}/**/*.ts'],
      exclude: ['scheduler/page/**'],
      reporter: ['json-summary'],
    },
    projects: [
      {
        test: {
          ...IN_PROCESS,
          name: 'unit',
          include: [`${MIRROR}/*.test.ts`],
          exclude: [COMPONENT, OWN_NEIGHBOUR],
          execArgv: [...HEAP, ...READ_ONLY],
        },
      },
      {
        test: {
          ...IN_PROCESS,
          name: 'component',
          include: [COMPONENT],
          execArgv: HEAP,
        },
      },
      {
        test: {
          ...WITH_NEIGHBOURS,
          name: 'integration',
          include: ['test/integration/**/*.test.ts', OWN_NEIGHBOUR],
          exclude: LONG_ONLY,
          isolate: false,
          maxWorkers: LANES,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...WITH_NEIGHBOURS,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: LONG_ONLY,
          isolate: false,
          maxWorkers: LANES,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
