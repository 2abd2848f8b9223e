import { FleetError } from '#bundles/errors';
import { cutText } from '#cli/cut-text';
import { stopIfAborted } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from '../systemd/systemctl.ts';

const REQUEST_MS = 60_000;

/**
 * Asks systemd to reboot, and returns when it has agreed. A program that holds an inhibitor lock, such as unattended-upgrades at work, is respected
 * (systemd-inhibit(1)). @param why for people who are logged in @throws FleetError REBOOT_REFUSED, ABORTED
 */
export const requestReboot = async (
  options: Pick<HostTargetOptions, 'root' | 'run'>,
  why: string,
  signal: AbortSignal,
): Promise<void> => {
  const words = ['reboot', '--check-inhibitors=yes', `--message=Fleet Ferry: ${why}`];
  const { code, stderr, stdout } = await systemctl(options, words, signal, REQUEST_MS);
  if (code === 0) return;
  stopIfAborted(signal);
  throw new FleetError(
    'REBOOT_REFUSED',
    `systemd does not reboot this host (${code}): ${firstLine(stderr || stdout)}`,
    {
      hint: '"systemd-inhibit --list" shows what keeps it from rebooting; the agent tries again at its next look within the window',
    },
  );
};

export const firstLine = (text: string): string =>
  cutText((text.split('\n').find((line) => line.trim() !== '') ?? 'no reason given').trim(), 300);
