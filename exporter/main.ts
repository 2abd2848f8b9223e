import { runProgram } from '#cli/run-program';
import { COMMANDS } from './commands.ts';

await runProgram(
  {
    name: 'fleet-export',
    description:
      'Fills media for disconnected sites: what each site needs and nothing else, verified before and after.',
    commands: COMMANDS,
  },
  process.argv.slice(2),
);
