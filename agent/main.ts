import { runProgram } from '#bundles/program/run-program';

await runProgram(
  {
    name: 'fleet-agent',
    description: 'Verifies, applies and watches what the platform team released for this cluster or host.',
    commands: './agent/commands.ts',
    topics: { reports: { description: 'Carry the history home' } },
  },
  process.argv.slice(2),
);
