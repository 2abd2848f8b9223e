import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * unit: no process, no socket, seconds. integration: one real neighbour each, in test/integration, and beside the unit tests what
 * needs a process or a socket of its own (*.integration.test.ts). e2e: the whole flow.
 */
const OWN_NEIGHBOUR = 'test/{bundles,scheduler,exporter,agent,docs}/**/*.integration.test.ts';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{bundles,scheduler,exporter,agent,docs}/**/*.test.ts'],
          exclude: [OWN_NEIGHBOUR],
          pool: 'threads',
          isolate: false,
          // What a unit test writes need not survive anything: memory, where there is some to write to.
          env: existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {},
          // vitest leaves one core free, which on two cores halves it.
          maxWorkers: Math.max(2, availableParallelism() - 1),
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', OWN_NEIGHBOUR],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
