import { FleetError } from '../../../bundles/errors.ts';
import { findAirGap } from '../fleets/air-gap.ts';
import { findProgram } from '../run/find-program.ts';
import type { Part } from './part.ts';

/** The right to run a command without any network (runAirGapped). The path is that of unshare. */
export const airGap: Part = {
  title: 'air gap',
  variable: 'FLEET_AIR_GAP',
  source: 'a network namespace',
  find: (machine) => (findAirGap().present ? findProgram('unshare', machine.env) : undefined),
  install: () => {
    const gap = findAirGap();
    const reason = gap.present ? 'There is no unshare in PATH.' : gap.reason;
    return Promise.reject(new FleetError('TOOL_MISSING', reason));
  },
};
