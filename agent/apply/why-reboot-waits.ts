import type { Agent } from '../store/agent.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { loadWithoutValues } from './load-package.ts';

/** Whether applying a package reboots the machine. False for one that cannot be read: its operation says why. @throws FleetError ABORTED */
export const rebootsFor = async (
  { state, targets, signal }: Pick<Agent, 'state' | 'targets' | 'signal'>,
  desired: PackageRef,
): Promise<boolean> => {
  const target = targets.find(({ kind }) => kind === desired.kind);
  if (!target?.reboots) return false;
  try {
    return await target.reboots(await loadWithoutValues(state, desired, signal), signal);
  } catch {
    checkAborted(signal);
    return false;
  }
};

/** Obstacle of a package that reboots the machine, as a sentence; undefined: it reboots nothing, or may do so now. @throws FleetError ABORTED */
export const whyRebootWaits = async (agent: Agent, desired: PackageRef): Promise<string | undefined> => {
  if (!(await rebootsFor(agent, desired))) return undefined;
  const waits = agent.rebootWaits ? await agent.rebootWaits() : 'the service: a command reboots nothing';
  return waits === undefined ? undefined : `it reboots the host, and waits for ${waits}`;
};
