import type { HostCheck } from '#bundles/formats/bundle/host-package';
import { toFleetError } from '#bundles/errors';
import { uncheckedCheck } from '../../../model/unknown-health.ts';
import { redact, secretTexts } from '../../../secrets/redact.ts';
import type { CheckResult, DesiredPackage } from '../../../model/target.ts';
import { readWanted } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { checkExec } from './check-exec.ts';
import { checkFile } from './check-file.ts';
import { checkHttp } from './check-http.ts';
import { checkTcp } from './check-tcp.ts';
import { uncheckedPlaybooks } from '../playbooks/observe-playbooks.ts';
import { lastLines } from '../systemd/last-lines.ts';
import { confirmSlot } from '../rauc/confirm-slot.ts';
import { checkUnit } from './check-unit.ts';

/**
 * Runs all checks of a package and returns their results, in the order they are listed. Units are checked first, because programs,
 * addresses and files fail while units are starting. What the agent does not do here is a skipped check: each unit that should run, each
 * playbook, and the installation of Debian packages; and so is a playbook that cannot be checked.
 * @throws FleetError ABORTED, and the codes of readWanted for an unreadable package. A failed check is a result
 */
export const settleHost = async (
  options: HostTargetOptions,
  desired: DesiredPackage,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> => {
  const wanted = readWanted(desired);
  const { checks, units: listed, playbooks, install } = wanted;
  const results = new Map<HostCheck, CheckResult>();
  const perform = async (check: HostCheck, run: () => Promise<CheckResult>) => {
    const result = await run().catch((error: unknown): CheckResult => {
      stopIfAborted(signal);
      return { name: check.name, outcome: 'failed', message: toFleetError(error).message };
    });
    results.set(check, result);
  };
  const units = checks.filter((check) => check.type === 'unit');
  const watch = async (check: (typeof units)[number]): Promise<CheckResult> => {
    const result = await checkUnit(options, check, signal);
    const output = result.outcome === 'failed' ? await lastLines(options, check.unit, desired, signal) : '';
    return output === '' ? result : { ...result, output };
  };
  await Promise.all(units.map((check) => perform(check, () => watch(check))));
  const unitFailed = [...results.values()].some(({ outcome }) => outcome === 'failed');
  const probes = checks.filter((check) => check.type !== 'unit');
  const probe = probeOf(options, desired, unitFailed, signal);
  await Promise.all(probes.map((check) => perform(check, () => probe(check))));
  const isWell = [...results.values()].every(({ outcome }) => outcome !== 'failed');
  const system = isWell ? await confirmSlot(options, wanted, signal) : undefined;
  const inert = whyUnmanaged(options);
  const watched = new Set(units.map(({ unit }) => unit));
  const skipped = (name: string, message: string): CheckResult => ({ name, outcome: 'skipped', message });
  const unstarted = listed.filter(({ name, active }) => inert && active && !watched.has(name));
  return [
    ...checks.flatMap((check) => results.get(check) ?? []),
    ...(system ? [system] : []),
    ...unstarted.map(({ name }) => skipped(name, `${name} is not started: ${inert}`)),
    ...(install && options.root !== '/'
      ? [skipped('debs', 'Debian packages are not installed: root is not /')]
      : []),
    ...(inert ? playbooks.map(({ name }) => skipped(name, `playbook ${name} is not run: ${inert}`)) : []),
    ...uncheckedPlaybooks(options, wanted).map(uncheckedCheck),
  ];
};

/**
 * Whether programs, addresses and files pass at the first try. Units are left out: a look compares their state.
 * @throws FleetError ABORTED, and the codes of readWanted
 */
export const passesHostChecks = async (
  options: HostTargetOptions,
  desired: DesiredPackage,
  signal: AbortSignal,
): Promise<boolean> => {
  const probe = probeOf(options, desired, true, signal);
  const passes = readWanted(desired).checks.map(async (check) => {
    if (check.type === 'unit') return true;
    const { outcome } = await probe(check).catch((error: unknown) => {
      stopIfAborted(signal);
      return { outcome: 'failed', message: toFleetError(error).message };
    });
    return outcome === 'passed';
  });
  if (!(await Promise.all(passes)).every(Boolean)) return false;
  return (await confirmSlot(options, readWanted(desired), signal))?.outcome !== 'failed';
};

/** Whether a package has checks of programs, addresses or files, or a system whose slot is to be marked good in each boot. @throws the codes of readWanted */
export const hasProbes = (desired: DesiredPackage): boolean =>
  readWanted(desired).rauc !== undefined || readWanted(desired).checks.some(({ type }) => type !== 'unit');

type Probe = Exclude<HostCheck, { type: 'unit' }>;

/** @param once whether addresses and files are tried a single time; programs always are */
const probeOf = (
  options: HostTargetOptions,
  desired: DesiredPackage,
  once: boolean,
  signal: AbortSignal,
): ((check: Probe) => Promise<CheckResult>) => {
  const secrets = secretTexts(desired);
  const withoutSecrets = (text: string, length: number): string => redact(text, secrets, length);
  return (check) => {
    switch (check.type) {
      case 'exec':
        return checkExec(options, check, withoutSecrets, signal);
      case 'http':
        return checkHttp(check, once, signal);
      case 'tcp':
        return checkTcp(check, once, signal);
      case 'file':
        return checkFile(options, check, once, signal);
    }
  };
};
