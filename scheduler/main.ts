import { runProgram } from '#cli/run-program';
import { COMMANDS } from './commands.ts';
import { PROGRAM } from './program.ts';
import { limitYoungGeneration } from './v8-flags.ts';

/** They hold a whole platform in memory. */
const BUILDS: ReadonlySet<string | undefined> = new Set(['build', 'diff', 'render', 'validate']);
if (BUILDS.has(process.argv[2])) limitYoungGeneration();

void runProgram({ ...PROGRAM, commands: COMMANDS }, process.argv.slice(2));
