import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { SettingDetail } from '../host-step.ts';
import { runStep } from '../runner/run-step.ts';
import { stepError } from '../runner/step-error.ts';
import { writeStarted } from '../systemd/started.ts';
import { recordSettings } from '../settings/read-sysctl.ts';
import { setLater, settingRecord } from '../settings/setting.ts';
import { withoutNames } from '../live/sysctl-lines.ts';

const TIMEOUT_SECONDS = 120;

/**
 * Lets the runner apply the content of a settings file, and records what the kernel made of its values. @throws FleetError APPLY_FAILED with the first line of the program's output
 */
export const executeSetting = async (
  options: HostTargetOptions,
  step: Step,
  { path, program, digest }: SettingDetail,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const file = wanted?.files.get(path);
  if (!wanted || !file || file.digest !== digest || !('bytes' in file))
    throw new FleetError('APPLY_FAILED', `the plan for ${path} was made for another package`, {
      hint: 'Plan again',
    });
  const later = setLater(wanted, file);
  const bytes = program === 'sysctl' ? withoutNames(file.bytes, later) : file.bytes;
  const sent = { digest: digestOf(bytes), size: bytes.byteLength, bytes: bytes.toString('base64') };
  const content = [{ path: 'settings.conf', ...sent }];
  const request = {
    kind: 'setting',
    program,
    content,
    timeoutSeconds: TIMEOUT_SECONDS,
    secrets: [],
  } as const;
  const result = await runStep(request, options, signal);
  if (result.outcome !== 'succeeded') {
    const said = `${path} could not take effect: ${result.message}`;
    throw stepError('APPLY_FAILED', said, result, result.first.split('\n')[0] ?? '');
  }
  const live = program === 'sysctl' ? await recordSettings(file.bytes, later) : {};
  await writeStarted(options, settingRecord(path), { ...live, [path]: digest });
  return { key: step.key, outcome: step.outcome, reason: step.reason };
};
