import { runProgram } from '#cli/run-program';
import { COMMANDS } from './commands.ts';
import { setFlags } from './v8-flags.ts';

setFlags(process.argv[2]);

await runProgram(
  {
    name: 'fleet-scheduler',
    description: 'Turns a platform repository into signed bundles, and shows what runs where.',
    commands: COMMANDS,
    topics: {
      approvals: { description: 'Bundles that wait for a second signature' },
      keys: { description: 'Keys that sign' },
      reports: { description: 'What sites sent home' },
      root: { description: 'The trust root of a fleet' },
      sites: { description: 'Sites and their agents' },
      tokens: { description: 'What lets an agent enrol or a monitor read' },
    },
  },
  process.argv.slice(2),
);
