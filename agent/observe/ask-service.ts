import { spawnSync } from 'node:child_process';
import { readProperties } from '../apply/host/systemd/read-properties.ts';
import { COMMAND_ENV } from '../apply/host/host-options.ts';

/**
 * The agent's service by systemd. `waits`: it is inactive, and a timer, socket or path unit that is active starts it, so that it looks
 * without running all the time. `masked`: it cannot be started. `unknown`: systemd does not answer this user.
 */
export type ServiceAnswer = 'running' | 'waits' | 'stopped' | 'masked' | 'unknown';

const UNIT = 'fleet-agent.service';
const TIMEOUT_MS = 5000;

/** Asks systemd on this machine. */
export const askService = (): ServiceAnswer => judgeService(show);

/** Properties of a unit, as `systemctl show` prints them; undefined if systemd does not answer. */
export type Show = (unit: string, properties: readonly string[]) => ReadonlyMap<string, string> | undefined;

export const judgeService = (ask: Show): ServiceAnswer => {
  const unit = ask(UNIT, ['LoadState', 'ActiveState', 'SubState', 'TriggeredBy']);
  const active = unit?.get('ActiveState');
  if (!unit || !active) return 'unknown';
  // A service that ended and waits for the next attempt of Restart= is activating, and looks at nothing.
  const restarts = unit.get('SubState')?.startsWith('auto-restart') === true;
  if (!restarts && !['inactive', 'failed'].includes(active)) return 'running';
  if (unit.get('LoadState') === 'masked') return 'masked';
  const triggers = (unit.get('TriggeredBy') ?? '').split(' ').filter((name) => name !== '');
  const isTriggered = triggers.some((name) => ask(name, ['ActiveState'])?.get('ActiveState') === 'active');
  // A failed run of a timer's service is said by its looks, which grow old.
  return isTriggered && !restarts ? 'waits' : 'stopped';
};

const show: Show = (unit, properties) => {
  const words = ['show', `--property=${properties.join(',')}`, '--', unit];
  const { status, stdout } = spawnSync('systemctl', words, {
    encoding: 'utf8',
    env: COMMAND_ENV,
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? readProperties(stdout) : undefined;
};
