import { toFleetError } from '#bundles/errors';
import type { Windows } from '#bundles/windows';
import type { Agent } from '../../store/agent.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { judgeReboot } from './judge-reboot.ts';
import { readRebootPolicy } from './read-policy.ts';
import { siteObstacles } from './reboot-obstacles.ts';

/**
 * Obstacle of a reboot for a package, by the policy of the release, the windows and the records of this machine; undefined: it may begin.
 * A package that failed is not applied again, so no pause between reboots is needed. @throws FleetError ABORTED
 */
export const packageRebootWaits = async (agent: Agent, windows: Windows): Promise<string | undefined> => {
  const machine = agent.targets.find((target) => target.machine)?.machine;
  if (!machine) return 'a booted host';
  try {
    const verdict = judgeReboot({
      now: agent.edge.now(),
      policy: await readRebootPolicy(agent),
      isAllowed: agent.policy.allowReboot,
      windows,
      obstacles: siteObstacles(agent),
    });
    return verdict.reboots ? await machine.atWork(agent.signal) : verdict.waits;
  } catch (cause) {
    checkAborted(agent.signal);
    return `a person: the reboot policy cannot be read: ${toFleetError(cause).message}`;
  }
};
