import './sleep-small.ts';
import { runProgram } from '#bundles/program/run-program';
import { PROGRAM } from './program.ts';

/** The agent as one file: oclif asks the very module that is running for its commands, so nothing here may wait. */
export { COMMANDS } from './commands.ts';

void runProgram({ ...PROGRAM, commands: import.meta.url }, process.argv.slice(2));
