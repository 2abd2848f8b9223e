import { keptProgram } from './kept-program.ts';

/** Runs `fleet-export <words>` in `cwd`, after the runs before it, in the process that keptProgram keeps. */
export const runExporter = keptProgram('fleet-export', 'test/harness/run/exporter-lines.ts');
