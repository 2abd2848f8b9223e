import type { CheckResult } from '../../../model/target.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { readBoot } from '../reboot/read-boot.ts';
import { describeSlot, markSlot, readRauc } from './read-rauc.ts';
import { whyNoRauc } from './why-no-rauc.ts';

/** The boot in which a slot was marked good. A boot loader that counts boots needs the mark once a boot, and each mark may write to flash. */
const confirmed = new WeakMap<HostTargetOptions, string>();

/**
 * Marks the booted slot good, so that the boot loader starts it from now on: the checks of the package have passed. Once in each boot.
 * @returns the check that the host runs the system of the package; undefined for a package without one
 * @throws FleetError RAUC_BLOCKED, TOOL_MISSING, ABORTED
 */
export const confirmSlot = async (
  options: HostTargetOptions,
  { rauc }: Pick<Wanted, 'rauc'>,
  signal: AbortSignal,
): Promise<CheckResult | undefined> => {
  if (!rauc || whyNoRauc(options) !== undefined) return undefined;
  const name = 'system';
  const { booted } = await readRauc(options, signal);
  const message = describeSlot(booted);
  if (booted.version !== rauc.version)
    return { name, outcome: 'failed', message: `the host runs ${message}, not version ${rauc.version}` };
  const boot = readBoot();
  const known = `${boot} ${booted.name}`;
  if (boot === undefined || confirmed.get(options) !== known) {
    const refusal = await markSlot(options, 'good', 'booted', signal);
    if (refusal !== undefined)
      return { name, outcome: 'failed', message: `RAUC does not mark ${message} good: ${refusal}` };
    confirmed.set(options, known);
  }
  return { name, outcome: 'passed', message };
};
