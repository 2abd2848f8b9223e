import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { note, toStep } from '../host-step.ts';
import type { PlanContext } from './plan-context.ts';
import { readStarted } from '../systemd/started.ts';
import type { Step } from '../../../model/target.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import { settingDifferences } from '../settings/setting-differences.ts';
import { type Setting, type SettingProgram, settingRecord, settingsOf } from '../settings/setting.ts';

/** Plans the settings whose content did not take effect yet. @param programs only these */
export const planSettings = async (
  { options, wanted }: Pick<PlanContext, 'options' | 'wanted'>,
  programs: readonly SettingProgram[],
): Promise<readonly Step[]> => {
  const steps: Step[] = [];
  for (const setting of settingsOf(wanted))
    if (wanted && programs.includes(setting.program)) steps.push(await planSetting(options, wanted, setting));
  return steps;
};

const planSetting = async (
  options: HostTargetOptions,
  wanted: Wanted,
  { program, file }: Setting,
): Promise<Step> => {
  const { named: path, digest } = file;
  const key = `setting:${path}`;
  const inert = whyUnmanaged(options) ?? (options.isRoot ? undefined : 'not root');
  if (inert !== undefined) return note(key, 'skipped', inert);
  const before = await readStarted(options, settingRecord(path));
  const isApplied = typeof before === 'object' && before[path] === digest;
  const differences =
    program === 'sysctl' && isApplied ? await settingDifferences(options, wanted, file) : [];
  const difference = differences.find(({ why }) => why !== 'missing');
  if (isApplied && !difference) return note(key, 'unchanged', 'in effect');
  const reason = difference ? `${difference.name} was changed` : 'its content is not in effect yet';
  return toStep(key, 'configured', reason, {
    kind: 'setting',
    detail: { path, program, digest },
  });
};
