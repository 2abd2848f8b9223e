import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** unit: no process, no network, seconds. integration: one real neighbour each. e2e: the whole flow. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{bundles,scheduler,exporter,agent,docs}/**/*.test.ts'],
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
          include: ['test/integration/**/*.test.ts'],
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
