import { packagedProgram } from './packaged-program.ts';

/** Beside parts.cosign: the last major version, which writes signatures under the tag `sha256-<hex>.sig`. */
export const cosign2 = packagedProgram({
  title: 'cosign 2',
  variable: 'FLEET_COSIGN_2',
  name: 'cosign',
  folder: 'cosign-2',
  suite: 'trixie',
  proof: ['version'],
  go: { path: 'github.com/sigstore/cosign/v2/cmd/cosign', version: 'v2.6.2' },
});
