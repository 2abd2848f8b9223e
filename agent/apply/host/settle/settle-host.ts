import type { HostCheck } from '#bundles/formats/bundle/host-package';
import { toFleetError } from '#bundles/errors';
import { uncheckedCheck } from '../../../model/unknown-health.ts';
import { redact, secretTexts } from '../../../secrets/redact.ts';
import type { CheckResult, DesiredPackage } from '../../../model/target.ts';
import { readWanted } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { type HostTargetOptions, whyInert } from '../host-options.ts';
import { checkExec } from './check-exec.ts';
import { checkFile } from './check-file.ts';
import { checkHttp } from './check-http.ts';
import { checkTcp } from './check-tcp.ts';
import { uncheckedPlaybooks } from '../playbooks/observe-playbooks.ts';
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
  const secrets = secretTexts(desired);
  const withoutSecrets = (text: string, length: number): string => redact(text, secrets, length);
  const results = new Map<HostCheck, CheckResult>();
  const perform = async (check: HostCheck, run: () => Promise<CheckResult>) => {
    const result = await run().catch((error: unknown): CheckResult => {
      stopIfAborted(signal);
      return { name: check.name, outcome: 'failed', message: toFleetError(error).message };
    });
    results.set(check, result);
  };
  const units = checks.filter((check) => check.type === 'unit');
  await Promise.all(units.map((check) => perform(check, () => checkUnit(options, check, signal))));
  const unitFailed = [...results.values()].some(({ outcome }) => outcome === 'failed');
  const probes = checks.filter((check) => check.type !== 'unit');
  const probe = (check: (typeof probes)[number]): Promise<CheckResult> => {
    switch (check.type) {
      case 'exec':
        return checkExec(options, check, withoutSecrets, signal);
      case 'http':
        return checkHttp(check, unitFailed, signal);
      case 'tcp':
        return checkTcp(check, unitFailed, signal);
      case 'file':
        return checkFile(options, check, unitFailed, signal);
    }
  };
  await Promise.all(probes.map((check) => perform(check, () => probe(check))));
  const inert = whyInert(options);
  const watched = new Set(units.map(({ unit }) => unit));
  const skipped = (name: string, message: string): CheckResult => ({ name, outcome: 'skipped', message });
  const unstarted = listed.filter(({ name, active }) => inert && active && !watched.has(name));
  return [
    ...checks.flatMap((check) => results.get(check) ?? []),
    ...unstarted.map(({ name }) => skipped(name, `${name} is not started: ${inert}`)),
    ...(install && options.root !== '/'
      ? [skipped('debs', 'Debian packages are not installed: root is not /')]
      : []),
    ...(inert ? playbooks.map(({ name }) => skipped(name, `playbook ${name} is not run: ${inert}`)) : []),
    ...uncheckedPlaybooks(options, wanted).map(uncheckedCheck),
  ];
};
