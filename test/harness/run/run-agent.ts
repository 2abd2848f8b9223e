import { keptProgram } from './kept-program.ts';

/** Runs `fleet-agent <words>` in `cwd`, after the runs before it, in the process that keptProgram keeps. */
export const runAgent = keptProgram('fleet-agent', 'test/harness/run/agent-lines.ts');
