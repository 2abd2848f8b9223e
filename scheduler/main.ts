import { runProgram } from '#cli/run-program';
import { COMMANDS } from './commands.ts';
import { PROGRAM } from './program.ts';
import { setFlags } from './v8-flags.ts';

setFlags(process.argv[2]);

void runProgram({ ...PROGRAM, commands: COMMANDS }, process.argv.slice(2));
