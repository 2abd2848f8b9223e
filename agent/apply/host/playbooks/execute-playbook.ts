import { FleetError } from '#bundles/errors';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import { readWanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { PlaybookDetail } from '../host-step.ts';
import { asJson } from '../owned/owned-state.ts';
import { forgetCheck, noteUnchecked, uncheckedDrift } from './observe-playbooks.ts';
import { describeResumed, describeTasks, taskKey } from '../runner/playbook-report.ts';
import { stepError } from '../runner/step-error.ts';
import { type OwnedPlaybook, playbookDigest, runPlaybook } from './run-playbook.ts';

/**
 * Runs a playbook, and its check mode after it: tasks that would change something again are not idempotent. They are named in the
 * result and do not count as drift. @throws FleetError APPLY_FAILED naming task, file, line, host and message; as runPlaybook
 */
export const executePlaybook = async (
  options: HostTargetOptions,
  step: Step,
  { name }: PlaybookDetail,
  desired: DesiredPackage | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const wanted = desired && readWanted(desired);
  const playbook = wanted?.playbooks.find((one) => one.name === name && step.key.endsWith(one.folder));
  if (!wanted || !playbook)
    throw new FleetError('INTERNAL', `the plan runs the playbook ${name}, which the package does not have`);
  forgetCheck(options, step.key);
  const ran = await runPlaybook(options, playbook, { desired, mode: 'apply' }, signal);
  if (ran.outcome !== 'succeeded')
    throw stepError(
      'APPLY_FAILED',
      `the playbook ${name}: ${ran.message}`,
      ran,
      'Tasks before it took effect and are not undone; correct the playbook, or roll back to the package that ran before',
    );
  const again = await runPlaybook(options, playbook, { desired, mode: 'check' }, signal);
  const digest = playbookDigest(playbook, wanted);
  const isChecked = again.outcome === 'succeeded' || playbook.checkSeconds === 0;
  noteUnchecked(options, { key: step.key, digest }, isChecked ? undefined : uncheckedDrift(playbook, again));
  const changed = again.report?.changed ?? [];
  const applied = ran.report?.changed.length ?? 0;
  const second =
    changed.length > 0
      ? `not idempotent: a second run would change ${describeTasks(changed)}`
      : 'a second run would change nothing';
  const verdict = again.outcome === 'succeeded' ? `; ${second}` : `; it cannot be checked: ${again.message}`;
  const state: OwnedPlaybook = {
    applied: digest,
    unstable: [...new Set(changed.map(taskKey))],
  };
  return {
    key: step.key,
    outcome: applied > 0 ? step.outcome : 'unchanged',
    reason: `${applied} changed${ran.report ? describeResumed(ran.report) : ''}${verdict}`,
    state: asJson(state),
  };
};
