import { runProgram } from '#bundles/program/run-program';

await runProgram(
  {
    name: 'fleet-export',
    description:
      'Fills media for disconnected sites: what each site needs and nothing else, verified before and after.',
    commands: new URL('commands.ts', import.meta.url).href,
  },
  process.argv.slice(2),
);
