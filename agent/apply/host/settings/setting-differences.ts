import type { Wanted, WantedFile } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { readStarted } from '../systemd/started.ts';
import { type SysctlDifference, sysctlDifferences } from './read-sysctl.ts';
import { setLater, settingRecord } from './setting.ts';

/** Parameters of one sysctl.d file of the package that differ from what they were when it took effect. @throws FleetError PERMISSION, IO */
export const settingDifferences = async (
  options: HostTargetOptions,
  wanted: Wanted,
  file: WantedFile,
): Promise<readonly SysctlDifference[]> => {
  if (!('bytes' in file)) return [];
  const started = await readStarted(options, settingRecord(file.named));
  const isOfFile = typeof started === 'object' && started[file.named] === file.digest;
  return await sysctlDifferences(file.bytes, isOfFile ? started : {}, setLater(wanted, file));
};
