import { runCommand } from '../apply/host/run-command.ts';
import type { Examined } from '../model/target.ts';
import { readUpgrade } from '../store/upgrade-trial.ts';

const UNIT = 'fleet-agent-trial.service';

/** Reports an upgrade of the agent that is under way, cannot continue or was undone; nothing otherwise. */
export const examineUpgrade = async (state: string, signal: AbortSignal): Promise<readonly Examined[]> => {
  const name = 'upgrade';
  const upgrade = readUpgrade(state);
  if (upgrade === undefined) return [];
  if (upgrade.kind === 'undone') return [{ name, verdict: 'warning', message: upgrade.message }];
  const { stdout } = await runCommand(['systemctl', 'show', '--value', '--property=SubState', UNIT], {
    timeoutMs: 10_000,
    signal,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  switch (stdout.trim()) {
    case 'start-pre':
    case 'start':
    case 'running':
      return [{ name, verdict: 'warning', message: upgrade.message }];
    case 'auto-restart': {
      const message = `${upgrade.message}. Its last attempt failed, and the next one begins within 10 seconds: "dpkg --audit" and "df" may show why`;
      return [{ name, verdict: 'bad', message }];
    }
    default: {
      const message = `${upgrade.message}. ${UNIT} does not run: "systemctl start ${UNIT}" continues it`;
      return [{ name, verdict: 'bad', message }];
    }
  }
};
