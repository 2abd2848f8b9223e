import { runProgram } from '#bundles/program/run-program';
import { COMMANDS } from './commands.ts';
import { compileLate } from './compile-late.ts';
import { setHubHeapFlags } from './serve/heap-flags.ts';

const BUILD_ONCE: readonly (string | undefined)[] = ['build', 'render', 'validate'];

if (BUILD_ONCE.includes(process.argv[2])) compileLate();
if (process.argv[2] === 'serve') setHubHeapFlags();

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
