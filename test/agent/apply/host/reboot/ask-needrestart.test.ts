import { expect, it } from 'vitest';
import { parseNeedrestart } from '../../../../../agent/apply/host/reboot/ask-needrestart.ts';

/** The form of needrestart 3.6 (Debian 12), 3.11 (Debian 13) and of README.batch.md. */
const BATCH = `NEEDRESTART-VER: 3.6
NEEDRESTART-KCUR: 6.1.0-27-amd64
NEEDRESTART-KEXP: 6.1.0-28-amd64
NEEDRESTART-KSTA: 3
NEEDRESTART-UCSTA: 2
NEEDRESTART-UCCUR: 0x0041
NEEDRESTART-UCEXP: 0x0042
NEEDRESTART-SVC: ssh.service
NEEDRESTART-SVC: cron.service
NEEDRESTART-SVC: cron.service
NEEDRESTART-SESS: user @ session 3
`;

it('needrestart names a kernel, microcode and services', () => {
  expect(parseNeedrestart(BATCH)).toEqual({
    kernel: {
      key: 'kernel:6.1.0-28-amd64',
      message: 'kernel 6.1.0-28-amd64 is installed, and 6.1.0-27-amd64 runs',
    },
    microcode: { key: 'microcode:0x0042', message: 'microcode 0x0042 is installed, and 0x0041 is loaded' },
    services: ['cron.service', 'ssh.service'],
  });
});

// As 3.6-4+deb12u4 says it in a container.
it.each([
  [
    'a kernel that it does not know',
    'NEEDRESTART-KCUR: 6.18.44\nNEEDRESTART-KSTA: 0\nNEEDRESTART-UCSTA: 1\nNEEDRESTART-UCCUR: 0x0001\nNEEDRESTART-UCEXP: \n',
  ],
  [
    'the kernel that runs',
    'NEEDRESTART-KCUR: 6.1.0-28-amd64\nNEEDRESTART-KEXP: 6.1.0-28-amd64\nNEEDRESTART-KSTA: 1\n',
  ],
  ['nothing', ''],
])('needrestart asks for no reboot with %s', (_, text) => {
  expect(parseNeedrestart(text)).toEqual({ services: [] });
});
