import { packagedProgram } from './packaged-program.ts';

/** What keeps images on most nodes, of the age that long-lived sites have; `ctr` lies beside it. Unpacked, never a service. */
export const containerd = packagedProgram({
  title: 'containerd',
  variable: 'FLEET_CONTAINERD',
  name: 'containerd',
  suite: 'bookworm',
  proof: ['--version'],
});
