import { runProgram } from '#cli/run-program';
import { COMMANDS } from './commands.ts';
import { PROGRAM } from './program.ts';

/** The agent as one file. */
void runProgram({ ...PROGRAM, commands: COMMANDS }, process.argv.slice(2));
