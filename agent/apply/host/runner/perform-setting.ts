import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errno } from '../host-error.ts';
import { COMMAND_ENV } from '../host-options.ts';
import { readParameter } from '../live/read-parameter.ts';
import { type SysctlLine, sysctlLines } from '../live/sysctl-lines.ts';
import type { SettingRequest } from '../step-request.ts';
import type { StepEnd, StepWork } from './step-work.ts';

const TIMEOUT_MS = 110_000;

/** The program that applies settings of a kind at boot. */
const PROGRAMS: Readonly<Record<SettingRequest['program'], readonly string[]>> = {
  sysusers: ['systemd-sysusers'],
  tmpfiles: ['systemd-tmpfiles', '--create'],
  sysctl: ['/lib/systemd/systemd-sysctl', '--strict'],
};

/**
 * The programs for accounts and temporary files pass some failures with 0 and log an error (findings/sysusers-takes-another-number.sh,
 * findings/tmpfiles-passes-a-file-for-a-directory.sh); at this level they print nothing else.
 */
const ERRORS_ONLY = { ...COMMAND_ENV, SYSTEMD_LOG_LEVEL: 'err' };

/** Applies one settings file with the program that applies it at boot. @throws FleetError ABORTED, IO */
export const performSetting = async (
  { program }: SettingRequest,
  { content, scratch, run, signal }: StepWork,
): Promise<StepEnd> => {
  const [name = '', ...words] = PROGRAMS[program];
  const file = join(content, 'settings.conf');
  const isSysctl = program === 'sysctl';
  const { applied, written } = isSysctl ? await prepared(file, scratch) : asItIs(file);
  const env = isSysctl ? COMMAND_ENV : ERRORS_ONLY;
  const ended = await run([name, ...words, applied], { timeoutMs: TIMEOUT_MS, signal, cwd: '/', env });
  const [said = ''] = ended.stderr.trim().split('\n');
  const shown = said.replaceAll(`${applied}:`, 'line ');
  if (ended.code !== 0) return { ...ended, message: `${name} ended with ${ended.code}: ${shown}` };
  if (!isSysctl && said !== '') return { ...ended, message: `${name} logged an error: ${shown}` };
  return { ...ended, message: await writeAll(written) };
};

const asItIs = (applied: string): Prepared => ({ applied, written: [] });

type Prepared = { readonly applied: string; readonly written: readonly SysctlLine[] };

/**
 * A copy of a sysctl.d file for systemd-sysctl --strict: a parameter whose folder does not exist may fail, as at boot, because its
 * module or interface comes later; and write-only parameters are left out, because systemd-sysctl opens each one to read it too.
 */
const prepared = async (file: string, scratch: string): Promise<Prepared> => {
  const text = await readFile(file, 'utf8');
  const lines = sysctlLines(text);
  const written: SysctlLine[] = [];
  const kept = await Promise.all(
    text.split('\n').map(async (text_, at) => {
      const line = lines[at];
      if (!line || line.isPattern) return text_;
      const found = await readParameter(line.path);
      if (found.state === 'absent' && !found.isKnown && !line.mayFail) return `-${text_.trim()}`;
      if (found.state !== 'write-only') return text_;
      written.push(line);
      return '';
    }),
  );
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const applied = join(scratch, 'settings.conf');
  await writeFile(applied, kept.join('\n'), { mode: 0o600 });
  return { applied, written };
};

/** @returns why a line that may not fail failed */
const writeAll = async (lines: readonly SysctlLine[]): Promise<string | undefined> => {
  for (const { name, path, value, mayFail } of lines) {
    try {
      await using parameter = await open(join('/proc/sys', path), 'w');
      await parameter.write(value);
    } catch (error) {
      if (!mayFail) return `${name} cannot be written: ${errno(error) ?? 'unknown'}`;
    }
  }
  return undefined;
};
