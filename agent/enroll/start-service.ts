import type { Config } from '../config/config.ts';
import { runCommand } from '../apply/host/run-command.ts';
import { COMMAND_ENV } from '../apply/host/host-options.ts';
import { hasUnit } from '../observe/judge-look.ts';

const UNIT = 'fleet-agent.service';
const TIMEOUT_MS = 30_000;

/**
 * Starts the agent's service after an enrolment, as the next boot would: where systemd runs, the service of this state directory is
 * installed and the administrator has not disabled it. Returns 'started', 'running' if it ran before, 'absent' where there is no such
 * service, or why it was not started.
 */
export const startService = async (
  config: Pick<Config, 'state'>,
  signal: AbortSignal,
): Promise<'started' | 'running' | 'absent' | { readonly why: string }> => {
  if (!hasUnit(config)) return 'absent';
  const systemctl = (...words: readonly string[]) =>
    runCommand(['systemctl', ...words], { timeoutMs: TIMEOUT_MS, signal, env: COMMAND_ENV });
  if ((await systemctl('is-active', '--quiet', UNIT)).code === 0) return 'running';
  const enabled = (await systemctl('is-enabled', UNIT)).stdout.trim();
  if (enabled !== 'enabled') return { why: `it is ${enabled || 'unknown to systemd'}` };
  // Not waited for: at the first boot this command is itself a job of systemd, before the service.
  const { code, stderr } = await systemctl('start', '--no-block', UNIT);
  return code === 0 ? 'started' : { why: stderr.trim().split('\n')[0] ?? `systemctl ended with ${code}` };
};
