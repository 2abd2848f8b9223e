import { statSync } from 'node:fs';
import type { Machine, RebootNeed } from '../../../model/machine.ts';
import { runQuietly } from '../debs/apt.ts';
import { type SystemdOptions, whyUnmanaged } from '../host-options.ts';
import { systemctl } from '../systemd/systemctl.ts';
import { readBoot } from './read-boot.ts';
import { readRebootNeed, REBOOT_FILES } from './read-reboot-need.ts';
import { firstLine, requestReboot } from './request-reboot.ts';

/** needrestart is asked again after this while it names services, which may have been restarted meanwhile. */
const NEEDRESTART_INTERVAL_MS = 3_600_000;

/**
 * The machine of a booted host; undefined for a folder that stands for '/', and without systemd. What it found is kept until a file
 * changes from which the system would say something else, so that a look costs five calls of stat.
 */
export const hostMachine = (
  options: SystemdOptions,
  elapsedMs: () => number = () => performance.now(),
): Machine | undefined => {
  if (whyUnmanaged(options) !== undefined) return undefined;
  let known: { readonly print: string; readonly atMs: number; readonly need: RebootNeed } | undefined;
  return {
    boot: readBoot,
    rebootNeed: async (signal) => {
      const print = fingerprint();
      const isOld = known === undefined || elapsedMs() - known.atMs > NEEDRESTART_INTERVAL_MS;
      if (known?.print === print && !(isOld && known.need.services.length > 0)) return known.need;
      const need = await readRebootNeed(options.run, signal);
      known = { print, atMs: elapsedMs(), need };
      return need;
    },
    atWork: (signal) => readAptActivity(options, signal),
    reboot: (signal) => requestReboot(options, 'a reboot is required', signal),
  };
};

const fingerprint = (): string =>
  [...REBOOT_FILES, '/boot', '/var/lib/dpkg/status']
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : '-';
    })
    .join('\n');

/** apt-get takes the locks of dpkg for its check, and refuses where dpkg was interrupted or dependencies are not met. */
const readAptActivity = async (options: SystemdOptions, signal: AbortSignal): Promise<string | undefined> => {
  const jobs = await systemctl(options, ['list-jobs', '--no-legend', '--plain'], signal);
  if (jobs.stdout.trim() !== '') return 'other work: systemd starts or stops units';
  const checked = await runQuietly({ run: options.run, signal }, [
    'apt-get',
    '-q',
    '-o',
    'DPkg::Lock::Timeout=0',
    'check',
  ]);
  if (checked.code === 127) return undefined;
  const audit =
    checked.code === 0 ? await runQuietly({ run: options.run, signal }, ['dpkg', '--audit']) : checked;
  if (audit.code === 0 && audit.stdout.trim() === '') return undefined;
  const said = firstLine(checked.code === 0 ? audit.stdout : checked.stderr);
  return `other work: the Debian packages of this host are being changed, or not in order: ${said}`;
};
