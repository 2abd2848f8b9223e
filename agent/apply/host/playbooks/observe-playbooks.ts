import type { HostPlaybook } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage, Drift, OwnedObject } from '../../../model/target.ts';
import { readWanted, type Wanted } from '../desired/read-wanted.ts';
import type { RunnerResult } from '../step-request.ts';
import { stopIfAborted } from '../host-error.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { describeTasks, driftedTasks } from '../runner/playbook-report.ts';
import { type OwnedPlaybook, playbookDigest, playbookKey, runPlaybook } from './run-playbook.ts';

/** The last look at each playbook of a target in this process; milliseconds. The first look after a start runs the check. */
type Look = { readonly at: number; readonly digest: string; readonly drifts: readonly Drift[] };
const looks = new WeakMap<HostTargetOptions, Map<string, Look>>();

const looksOf = (options: HostTargetOptions): Map<string, Look> => {
  const found = looks.get(options) ?? new Map<string, Look>();
  looks.set(options, found);
  return found;
};

/** The next look runs the check, because the playbook ran. */
export const forgetCheck = (options: HostTargetOptions, key: string): void => {
  looksOf(options).delete(key);
};

/** Keeps the result of a check that was made outside of a look; undefined if it could tell, and the next look runs it. */
export const noteUnchecked = (
  options: HostTargetOptions,
  { key, digest }: { readonly key: string; readonly digest: string },
  unchecked: Drift | undefined,
): void => {
  if (unchecked) looksOf(options).set(key, { at: Date.now(), digest, drifts: [unchecked] });
  else forgetCheck(options, key);
};

/** Playbooks of a package that the last look of this process could not check. */
export const uncheckedPlaybooks = (options: HostTargetOptions, wanted: Wanted): readonly Drift[] =>
  wanted.playbooks.flatMap((playbook) => {
    const look = looksOf(options).get(playbookKey(playbook));
    if (playbook.checkSeconds === 0 || look?.digest !== playbookDigest(playbook, wanted)) return [];
    return look.drifts.filter(({ unchecked }) => unchecked);
  });

/** A check that fails says nothing about the host: tasks that check mode skips leave out what later ones need. */
export const uncheckedDrift = (
  { name, ...playbook }: HostPlaybook,
  { message }: Pick<RunnerResult, 'message'>,
): Drift => ({
  key: playbookKey(playbook),
  what: 'cannot be checked',
  message: `the playbook ${name} cannot be checked: ${message}`,
  unchecked: true,
});

/** True if the last look is older than the interval, or the clock was set back. */
export const isLookDue = (look: { readonly at: number } | undefined, seconds: number, now: number): boolean =>
  !look || now >= look.at + seconds * 1000 || now < look.at;

/**
 * Runs the check mode of each playbook at its interval; in between the last result counts. Of a check that fails, the tasks before the
 * failure count; otherwise the playbook cannot be checked. @throws FleetError ABORTED, PERMISSION, IO
 */
export const observePlaybooks = async (
  options: HostTargetOptions,
  desired: DesiredPackage,
  owned: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  const wanted = readWanted(desired);
  if (whyUnmanaged(options)) return [];
  const known = looksOf(options);
  const drifts: Drift[] = [];
  for (const playbook of wanted.playbooks) {
    stopIfAborted(signal);
    const key = playbookKey(playbook);
    const state = owned.find((one) => one.key === key)?.state as unknown as OwnedPlaybook | undefined;
    const digest = playbookDigest(playbook, wanted);
    if (state?.applied !== digest) {
      drifts.push({ key, what: 'not run', message: `the playbook ${playbook.name} has not run to its end` });
      continue;
    }
    if (playbook.checkSeconds === 0) continue;
    const last = known.get(key);
    const current = last?.digest === digest ? last : undefined;
    const now = Date.now();
    if (!isLookDue(current, playbook.checkSeconds, now)) {
      drifts.push(...(current?.drifts ?? []));
      continue;
    }
    const checked = await runPlaybook(options, playbook, { desired, mode: 'check' }, signal);
    const changed = checked.report ? driftedTasks(checked.report, state.unstable) : [];
    const message = `the playbook ${playbook.name} would change ${describeTasks(changed)}`;
    const found: readonly Drift[] = [
      ...(changed.length > 0 ? [{ key, what: 'tasks', message }] : []),
      ...(checked.outcome === 'succeeded' ? [] : [uncheckedDrift(playbook, checked)]),
    ];
    known.set(key, { at: now, digest, drifts: found });
    drifts.push(...found);
  }
  return drifts;
};
