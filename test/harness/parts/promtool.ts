import { packagedProgram } from './packaged-program.ts';

/** Reads rules and metrics as Prometheus does, and runs unit tests of rules. The server itself is beside it. */
export const promtool = packagedProgram({
  title: 'promtool',
  variable: 'FLEET_PROMTOOL',
  name: 'prometheus',
  program: 'promtool',
  suite: 'bookworm',
  proof: ['--version'],
});
