import { FleetError } from '#bundles/errors';
import {
  type SystemdOptions,
  COMMAND_ENV,
  type CommandResult,
  type HostTargetOptions,
} from '../host-options.ts';

/** Longer than the start timeout of any ordinary unit; bounds one-shot units that have none. */
const TIMEOUT_MS = 600_000;

/** Runs systemctl for the host's root. A non-zero exit code is a result. */
export const systemctl = (
  options: Pick<SystemdOptions, 'root' | 'run'>,
  words: readonly string[],
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<CommandResult> => {
  const root = options.root === '/' ? [] : [`--root=${options.root}`];
  return options.run(['systemctl', '--no-ask-password', '--no-pager', ...root, ...words], {
    timeoutMs,
    signal,
    cwd: '/',
    env: { ...COMMAND_ENV, SYSTEMD_COLORS: '0' },
  });
};

/** As systemctl, for a verb that must succeed. @throws FleetError UNIT_FAILED with the output of systemctl */
export const mustSystemctl = async (
  options: HostTargetOptions,
  words: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> => {
  const result = await systemctl(options, words, signal);
  if (result.code === 0) return result;
  const said = result.stderr.trim().split('\n')[0] ?? '';
  const unit = words.includes('--') ? words.at(-1) : undefined;
  throw new FleetError('UNIT_FAILED', `systemctl ${words.join(' ')} ended with ${result.code}: ${said}`, {
    hint: unit !== undefined ? `journalctl -u ${unit} shows why` : undefined,
  });
};
