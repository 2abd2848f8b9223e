import { keptProgram } from './kept-program.ts';

/** Runs `fleet-scheduler <words>` in `cwd`, after the runs before it, in the process that keptProgram keeps. */
export const runScheduler = keptProgram('fleet-scheduler', 'test/harness/run/scheduler-lines.ts');
