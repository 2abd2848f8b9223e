import { packagedProgram } from './packaged-program.ts';

/** A second reader and writer of OCI artifacts, layouts and referrers. */
export const oras = packagedProgram({
  title: 'oras',
  variable: 'FLEET_ORAS',
  name: 'oras',
  suite: 'sid',
  proof: ['version'],
  go: { path: 'oras.land/oras/cmd/oras', version: 'v1.3.3' },
});
