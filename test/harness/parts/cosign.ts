import { packagedProgram } from './packaged-program.ts';

/** The reference verifier and second signer of our statements; 3.x, for its sigstore bundles. */
export const cosign = packagedProgram({
  title: 'cosign',
  variable: 'FLEET_COSIGN',
  name: 'cosign',
  suite: 'sid',
  proof: ['version'],
  go: { path: 'github.com/sigstore/cosign/v3/cmd/cosign', version: 'v3.1.1' },
});
