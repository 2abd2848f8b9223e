import { nameSome } from '#bundles/name-some';
import { parseTime, type Timestamp } from '#bundles/time';
import { formatCauses } from '../../model/machine.ts';
import type { Agent } from '../../store/agent.ts';
import { readCondition, type Rebooted, type RebootRequired } from '../../store/conditions.ts';

/** Results of the last look and of the last reboot by the agent. */
export type RebootStatus = {
  /** null: none is required, or this machine is not a booted host. */
  readonly required: RebootRequired | null;
  /** Units that use libraries of before an upgrade, as needrestart names them. */
  readonly services: readonly string[];
  /** The last reboot by the agent; null: it never rebooted this host. */
  readonly last: Rebooted['last'] | null;
  /** Why the system refused the reboot that was decided; null: it did not. */
  readonly refused: string | null;
  /** When a reboot was decided after which no look has begun yet. */
  readonly underWay: Timestamp | null;
};

export const readRebootStatus = ({ state }: Pick<Agent, 'state'>): RebootStatus => {
  const under = readCondition(state, 'rebooting');
  return {
    required: readCondition(state, 'reboot') ?? null,
    services: readCondition(state, 'restarts')?.services ?? [],
    last: readCondition(state, 'rebooted')?.last ?? null,
    refused: under?.refused ?? null,
    underWay: under && under.next === undefined ? under.at : null,
  };
};

/** When a required reboot is to be judged again; undefined for the next look. */
export const rebootDue = ({ state, edge }: Pick<Agent, 'state' | 'edge'>): Date | undefined => {
  const next = readCondition(state, 'reboot')?.next ?? null;
  const due = next === null ? undefined : parseTime(next);
  return due && due > edge.now() ? due : undefined;
};

/** Sentences for people about what is required, and how the last reboot by the agent ended. */
export const describeRebootStatus = ({
  required,
  services,
  last,
  refused,
  underWay,
}: RebootStatus): readonly string[] => [
  ...(required
    ? [`required since ${required.since}: ${formatCauses(required.causes)}; waits for ${required.waits}`]
    : []),
  ...(refused === null ? [] : [`refused: ${refused}`]),
  ...(services.length === 0
    ? []
    : [
        `${nameSome(services)} ${services.length === 1 ? 'uses' : 'use'} libraries of before an upgrade, until restarted`,
      ]),
  ...(last === null || underWay !== null ? [] : [describeLast(last)]),
];

const describeLast = ({ asked, judged, unwell }: Rebooted['last']): string => {
  if (judged === null)
    return `by the agent at ${asked}; the health of the packages after it is not known yet`;
  if (unwell.length === 0) return `by the agent at ${asked}; healthy after it`;
  return `by the agent at ${asked}; not healthy after it: ${nameSome(unwell)}`;
};
