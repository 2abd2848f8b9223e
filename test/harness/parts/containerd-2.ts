import { packagedProgram } from './packaged-program.ts';

/** containerd of today's nodes: 2.x words its errors otherwise than 1.6. */
export const containerd2 = packagedProgram({
  title: 'containerd 2',
  variable: 'FLEET_CONTAINERD_2',
  name: 'containerd',
  folder: 'containerd-2',
  suite: 'sid',
  proof: ['--version'],
});
