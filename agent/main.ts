import { runProgram } from '#bundles/program/run-program';
import { PROGRAM } from './program.ts';

await runProgram(
  { ...PROGRAM, commands: new URL('commands.ts', import.meta.url).href },
  process.argv.slice(2),
);
