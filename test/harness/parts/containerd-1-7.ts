import { packagedProgram } from './packaged-program.ts';
import type { Part } from './part.ts';

/** Beside parts.containerd, for describeOnVersions: that of Debian 13. */
export const containerd17: Part = {
  ...packagedProgram({
    title: 'containerd 1.7',
    variable: 'FLEET_CONTAINERD_1_7',
    name: 'containerd',
    folder: 'containerd-1.7',
    suite: 'trixie',
    proof: ['--version'],
  }),
  onlyInLong: true,
};
