import { nameSome } from '#bundles/name-some';
import { type RebootNeed, formatCauses } from '../../model/machine.ts';
import type { Examined, Target } from '../../model/target.ts';
import { pruneBackups } from './backups/ensure-room.ts';
import { examineDebs } from './debs/examine-debs.ts';
import { executeStep } from './execute/execute-step.ts';
import type { HostTargetOptions } from './host-options.ts';
import { keysClaimed } from './owned/keys-claimed.ts';
import { rebootsForSystem } from './rauc/reboots-for-system.ts';
import { placesOf } from './live/read-places.ts';
import { observeHost } from './observe/observe-host.ts';
import { planHost } from './plan/plan-host.ts';
import { secondsOfPackage } from './seconds-of-package.ts';
import { hostMachine } from './reboot/host-machine.ts';
import { restoreHostSecrets } from './restore/restore-secrets.ts';
import { hasProbes, passesHostChecks, settleHost } from './settle/settle-host.ts';
import { unlessShuttingDown } from './systemd/unless-shutting-down.ts';
import { currentKeys } from './owned/current-keys.ts';

export type { HostTargetOptions, Run } from './host-options.ts';

/** A host: files with mode and owner, directories, systemd units; its '/' is `options.root`. */
export const hostTarget = (options: HostTargetOptions): Target => {
  const machine = hostMachine(options);
  if (!machine) return targetOf(options);
  const target = targetOf(options);
  return {
    ...target,
    machine,
    examine: async (signal) => [
      ...((await target.examine?.(signal)) ?? []),
      examineReboot(await machine.rebootNeed(signal)),
    ],
  };
};

const targetOf = (options: HostTargetOptions): Target => ({
  kind: 'host',
  currentKeys: (keys) => currentKeys(placesOf(options.root), keys),
  claims: keysClaimed,
  seconds: secondsOfPackage,
  plan: (desired, owned, taken, signal) =>
    unlessShuttingDown(options, () => planHost(options, desired, owned, taken, signal)),
  reboots: (desired, signal) => unlessShuttingDown(options, () => rebootsForSystem(options, desired, signal)),
  execute: (step, desired, signal) =>
    unlessShuttingDown(options, () => executeStep(options, step, desired, signal)),
  settle: (desired, signal) =>
    unlessShuttingDown(
      options,
      () => settleHost(options, desired, signal),
      (checks) => checks.some(({ outcome }) => outcome === 'failed'),
    ),
  leavesOpen: hasProbes,
  passesChecks: (desired, signal) =>
    unlessShuttingDown(
      options,
      () => passesHostChecks(options, desired, signal),
      (passes) => !passes,
    ),
  examine: async (signal) => (options.root === '/' ? examineDebs(options.run, signal) : []),
  pruneCopies: (which) => pruneBackups(options, which),
  restore: (desired, owned, signal) => restoreHostSecrets(options, desired, owned, signal),
  observe: (desired, owned, signal, taken = new Map()) =>
    unlessShuttingDown(options, () => observeHost(options, desired, { owned, taken }, signal)),
});

const examineReboot = ({ causes, services }: RebootNeed): Examined => {
  const uses = services.length === 1 ? 'uses' : 'use';
  const restarts =
    services.length === 0
      ? ''
      : `${nameSome(services)} ${uses} libraries of before an upgrade, until restarted`;
  const message = [causes.length === 0 ? 'not required' : `required: ${formatCauses(causes)}`, restarts]
    .filter((text) => text !== '')
    .join('; ');
  return { name: 'reboot', verdict: causes.length + services.length === 0 ? 'good' : 'warning', message };
};
