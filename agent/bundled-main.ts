import './sleep-small.ts';
import { runProgram } from '#bundles/program/run-program';
import { COMMANDS } from './commands.ts';
import { PROGRAM } from './program.ts';

/** The agent as one file. */
await runProgram({ ...PROGRAM, commands: COMMANDS }, process.argv.slice(2));
