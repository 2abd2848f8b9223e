/**
 * Run before each test file: properties make the same cases each time, so that a change is judged by what it changed. Others are made by
 * FLEET_SEED=<number>, and by FLEET_SEED=random each time. A property that names no number of cases makes a tenth of fast-check's 100, and all
 * of them in a long run.
 */
import * as fc from 'fast-check';
import { runs } from './long.ts';

const given = process.env['FLEET_SEED'] ?? '1';
fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  numRuns: runs(100),
  ...(given !== 'random' && { seed: Number(given) }),
});

// It is for the processes of vitest alone (huge-pages.ts): the programs that tests start run as users run them.
delete process.env['GLIBC_TUNABLES'];
