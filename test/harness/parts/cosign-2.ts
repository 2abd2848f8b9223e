import { packagedProgram } from './packaged-program.ts';
import type { Part } from './part.ts';

/** Beside parts.cosign, for describeOnVersions: the last major version, which many build machines still run. */
export const cosign2: Part = {
  ...packagedProgram({
    title: 'cosign 2',
    variable: 'FLEET_COSIGN_2',
    name: 'cosign',
    folder: 'cosign-2',
    suite: 'trixie',
    proof: ['version'],
    go: { path: 'github.com/sigstore/cosign/v2/cmd/cosign', version: 'v2.6.2' },
  }),
  onlyInLong: true,
};
