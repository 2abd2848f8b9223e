import { packagedProgram } from './packaged-program.ts';

/** The reference reader and writer of the files that secret sets are sealed in. */
export const age = packagedProgram({
  title: 'age',
  variable: 'FLEET_AGE',
  name: 'age',
  suite: 'bookworm',
  proof: ['--version'],
  go: { path: 'filippo.io/age/cmd/age', version: 'v1.2.1' },
});
