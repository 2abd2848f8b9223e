import { join } from 'node:path';
import { COMMAND_ENV } from '../host-options.ts';
import type { StepEnd, StepWork } from './perform-request.ts';
import type { SettingRequest } from '../step-request.ts';

const TIMEOUT_MS = 110_000;

const PROGRAMS: Readonly<Record<SettingRequest['program'], readonly string[]>> = {
  sysusers: ['systemd-sysusers'],
  tmpfiles: ['systemd-tmpfiles', '--create'],
  sysctl: ['/lib/systemd/systemd-sysctl', '--strict'],
};

/** Applies one settings file with the program that applies it at boot. */
export const performSetting = async (
  { program }: SettingRequest,
  { content, run, signal }: StepWork,
): Promise<StepEnd> => {
  const [name = '', ...words] = PROGRAMS[program];
  const options = { timeoutMs: TIMEOUT_MS, signal, cwd: '/', env: COMMAND_ENV };
  const ended = await run([name, ...words, join(content, 'settings.conf')], options);
  const [said = ''] = ended.stderr.trim().split('\n');
  const shown = said.replaceAll(`${join(content, 'settings.conf')}:`, 'line ');
  return { ...ended, message: ended.code === 0 ? undefined : `${name} ended with ${ended.code}: ${shown}` };
};
