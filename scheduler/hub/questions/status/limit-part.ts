import { parseChannel } from '#bundles/names';
import { seesAssignment, seesWhole, type Visible } from '../../people/visible.ts';
import type { Actual } from '../state/read-actual.ts';
import type { ActualAgent, Desired } from '../state/what-runs-where.ts';

type Limited = { readonly actual: Actual; readonly desired: ReadonlyMap<string, Desired> };

/** Leaves out rows that a limited reader may not see: assignments of other workspaces, and rows about a whole environment. */
export const limitPart = (visible: Visible | undefined, { actual, desired }: Limited): Limited => {
  if (visible === undefined) return { actual, desired };
  const limited = new Map(
    [...desired].map(([channel, one]) => [channel, limitDesired(visible, channel, one)]),
  );
  const agents = actual.agents.flatMap((agent) => limitAgent(visible, limited, agent));
  const whole = new Set(
    agents
      .filter(({ channel }) => seesWhole(visible, channel.environment))
      .map(({ site, agent }) => `${site}/${agent}`),
  );
  return {
    actual: {
      ...actual,
      agents,
      gaps: actual.gaps.filter(({ agent }) => whole.has(agent)),
      alarms: actual.alarms.filter(({ agent }) => whole.has(agent)),
    },
    desired: limited,
  };
};

const limitDesired = (visible: Visible, channel: string, desired: Desired): Desired => {
  const { environment } = parseChannel(channel);
  if (seesWhole(visible, environment) || desired.kind !== 'release') return desired;
  const packages = [...desired.packages].filter(([id]) => seesAssignment(visible, environment, id));
  const held = desired.held.filter((one) =>
    seesAssignment(visible, environment, one.slice(0, one.indexOf(':'))),
  );
  return { ...desired, packages: new Map(packages), held, waits: [] };
};

/** An agent without a visible assignment is left out. */
const limitAgent = (
  visible: Visible,
  desired: ReadonlyMap<string, Desired>,
  agent: ActualAgent,
): readonly ActualAgent[] => {
  const { environment, clusterType } = agent.channel;
  if (seesWhole(visible, environment)) return [agent];
  const states = agent.states.filter(({ assignment }) => seesAssignment(visible, environment, assignment));
  const wanted = desired.get(`${environment}/${clusterType}`);
  const has = states.length > 0 || (wanted?.kind === 'release' && wanted.packages.size > 0);
  return has ? [{ ...agent, states }] : [];
};
