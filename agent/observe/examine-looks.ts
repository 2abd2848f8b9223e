import type { Config } from '../config/config.ts';
import type { Examined } from '../model/target.ts';
import type { Agent } from '../store/agent.ts';
import { readPackages } from '../store/applied/packages.ts';
import { nameSome } from '#bundles/name-some';
import { judgeLook } from './judge-look.ts';

/**
 * Reports a service that does not run, and packages that were not compared with live state lately; nothing where no service is
 * expected and commands have just looked.
 */
export const examineLooks = (
  agent: Pick<Agent, 'state' | 'edge'>,
  config: Partial<Config>,
): readonly Examined[] => {
  const name = 'service';
  const { service, last, whyOld } = judgeLook(agent, config);
  if (service.todo !== null) {
    const message = `it does not run, so nothing compares this machine with its release: "${service.todo}" starts it`;
    return [{ name, verdict: 'bad', message }];
  }
  const old = readPackages(agent.state).flatMap(({ current, assignment }) =>
    current && whyOld(assignment) !== undefined ? [assignment] : [],
  );
  if (old.length > 0) {
    const message = `not compared with live state lately: ${nameSome(old)}; "fleet-agent run --once" does it now`;
    return [{ name, verdict: 'bad', message }];
  }
  if (!service.expected || service.running !== true) return [];
  const looked = last ? `the last look was at ${last.at}` : 'it has not looked yet';
  return [{ name, verdict: 'good', message: `running; ${looked}` }];
};
