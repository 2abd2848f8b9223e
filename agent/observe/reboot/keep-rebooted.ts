import { defined } from '#bundles/defined';
import { isFleetError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { parseWindows, type Windows } from '#bundles/windows';
import { type Machine, MAX_CAUSES, type RebootCause, formatCauses } from '../../model/machine.ts';
import type { Agent } from '../../store/agent.ts';
import { readPackages } from '../../store/applied/packages.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { checkAborted, record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { readTrustRow } from '../../store/trust.ts';
import type { HealthWaits } from '../observe.ts';
import { isWell } from './judge-boot.ts';
import { judgeReboot, type RebootVerdict } from './judge-reboot.ts';
import { noteRebootNeed } from './note-reboot-need.ts';
import { readRebootPolicy } from './read-policy.ts';
import { rebootObstacles } from './reboot-obstacles.ts';

/** How the daemon lets its looks reboot the machine: the windows of its configuration. Commands of people do not. */
export type MayReboot = { readonly windows: Windows };

/** How long the agent begins nothing else, so that the system goes down without an apply under way. */
const GOING_DOWN_MS = 120_000;

/**
 * Asks whether this machine needs a reboot, reports a change of the answer, and reboots where the policy of the release, its windows and
 * the state of this machine allow it. The decision is on disk before the system is asked, so that no cause leads to a second reboot.
 */
export const keepRebooted = async (
  agent: Agent,
  isWaiting: HealthWaits['isWaiting'],
  mayReboot?: MayReboot,
): Promise<void> => {
  const machine = agent.targets.find((target) => target.machine)?.machine;
  if (!machine) return;
  const need = await machine.rebootNeed(agent.signal);
  checkAborted(agent.signal);
  if (need.causes.length === 0) {
    forgetUnneeded(agent, machine);
    noteRebootNeed(agent, need, { waits: '' });
    return;
  }
  const verdict = await judge(agent, machine, need.causes, { isWaiting, windows: mayReboot?.windows });
  const atWork = verdict.reboots && mayReboot ? await machine.atWork(agent.signal) : undefined;
  const doing = mayReboot ? 'the system, which goes down' : 'the next look of the service';
  noteRebootNeed(agent, need, verdict.reboots ? { waits: atWork ?? doing } : verdict);
  if (!verdict.reboots || atWork !== undefined || !mayReboot) return;
  begin(agent, machine, need.causes);
  await ask(agent, machine);
};

const judge = async (
  agent: Agent,
  machine: Machine,
  causes: readonly RebootCause[],
  {
    isWaiting,
    windows = parseWindows([]),
  }: { readonly isWaiting: HealthWaits['isWaiting']; readonly windows: Windows | undefined },
): Promise<RebootVerdict> => {
  const rebooted = readCondition(agent.state, 'rebooted');
  try {
    return judgeReboot({
      now: agent.edge.now(),
      policy: await readRebootPolicy(agent),
      isAllowed: agent.policy.allowReboot,
      windows,
      request: isUnderWay(agent, machine, causes)
        ? undefined
        : { causes, tried: rebooted?.tried ?? [], lastAsked: rebooted?.last.asked },
      obstacles: [
        ...(machine.boot() === undefined
          ? ['a person: the agent cannot distinguish the boots of this machine']
          : []),
        ...rebootObstacles(agent, isWaiting),
      ],
    });
  } catch (cause) {
    checkAborted(agent.signal);
    // The look has more to do than this.
    return {
      reboots: false,
      waits: `a person: the reboot policy cannot be read: ${toFleetError(cause).message}`,
    };
  }
};

/** Whether a reboot for all of these causes was decided in this boot and did not happen yet. */
const isUnderWay = (
  { state }: Pick<Agent, 'state'>,
  machine: Machine,
  causes: readonly RebootCause[],
): boolean => {
  const under = readCondition(state, 'rebooting');
  if (under?.boot !== machine.boot() || under === undefined) return false;
  const keys = new Set(under.causes.map(({ key }) => key));
  return causes.every(({ key }) => keys.has(key));
};

/** Forgets a reboot that was decided in this boot and is not needed any more, as it does not explain the next boot. */
const forgetUnneeded = ({ state }: Agent, machine: Machine): void => {
  if (isUnderWay({ state }, machine, [])) saveCondition(state, 'rebooting', undefined);
};

/** Stores the decision and reports it; what was decided in this boot already stays as it is. */
const begin = (agent: Agent, machine: Machine, causes: readonly RebootCause[]): void => {
  const { state, edge } = agent;
  const boot = machine.boot();
  if (boot === undefined || isUnderWay(agent, machine, causes)) return;
  const at = formatTime(edge.now());
  const unwell = readPackages(state).filter((row) => row.current && !isWell(row));
  const tried = readCondition(state, 'rebooted')?.tried ?? [];
  const keys = causes.map(({ key }) => key);
  const { desiredRelease } = readTrustRow(state);
  record(agent, 'reboot decided', () => {
    saveCondition(state, 'rebooting', {
      boot,
      at,
      causes,
      unwell: unwell.map(({ assignment }) => assignment),
    });
    saveCondition(state, 'rebooted', {
      tried: [...tried.filter((key) => !keys.includes(key)), ...keys].slice(-10 * MAX_CAUSES),
      last: { asked: at, causes, judged: null, unwell: [] },
    });
    appendEvent(agent, {
      type: 'reboot',
      release: desiredRelease,
      message: `the host reboots: ${formatCauses(causes)}`,
      detail: { state: 'reboots', causes: causes.map((cause) => ({ ...cause })) },
    });
  });
};

/** Asks the system, and holds the lock of the state directory while it goes down. A refusal is reported once, and asked again at the next look. */
const ask = async (agent: Agent, machine: Machine): Promise<void> => {
  const { state, signal, onJournal } = agent;
  try {
    await machine.reboot(signal);
  } catch (cause) {
    if (isFleetError(cause, 'ABORTED')) throw cause;
    noteRefusal(agent, toFleetError(cause).message);
    return;
  }
  onJournal('reboot asked');
  if (readCondition(state, 'rebooting')?.refused !== undefined) noteRefusal(agent, undefined);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, GOING_DOWN_MS);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
};

const noteRefusal = (agent: Agent, message: string | undefined): void => {
  const { state } = agent;
  const under = readCondition(state, 'rebooting');
  if (!under || under.refused === message) return;
  const { refused: _, ...known } = under;
  record(agent, 'reboot refused', () => {
    saveCondition(state, 'rebooting', { ...known, ...defined({ refused: message }) });
    if (message !== undefined)
      appendEvent(agent, {
        type: 'reboot',
        outcome: 'failed',
        code: 'REBOOT_REFUSED',
        message,
        detail: { state: 'refused' },
      });
  });
};
