import { readFile } from 'node:fs/promises';
import { digestOf, shortDigest } from '#bundles/digest';
import { MAX_CAUSES, type RebootCause, type RebootNeed } from '../../../model/machine.ts';
import { runQuietly } from '../debs/apt.ts';
import type { Run } from '../host-options.ts';
import { readKernelCause } from './read-kernel-cause.ts';
import { askNeedrestart } from './ask-needrestart.ts';

const FILE = '/run/reboot-required';
const PACKAGES = `${FILE}.pkgs`;

/** Where Debian packages, unattended-upgrades and update-notifier say that a reboot is required, and which packages said so. */
export const REBOOT_FILES = [FILE, PACKAGES] as const;

/**
 * Whether this host has to be rebooted: by /run/reboot-required, by the kernel that runs and the newest one installed, and by needrestart
 * where it is installed, which also knows microcode and services. @throws FleetError ABORTED
 */
export const readRebootNeed = async (run: Run, signal: AbortSignal): Promise<RebootNeed> => {
  const tools = { run, signal };
  const kernel = await readKernelCause(tools);
  const asked = await askNeedrestart(tools);
  const newest = kernel ?? asked.kernel;
  const causes = [
    ...(newest ? [newest] : []),
    ...(asked.microcode ? [asked.microcode] : []),
    ...(await fileCauses(tools)),
  ];
  return {
    causes: causes.toSorted((a, b) => (a.key < b.key ? -1 : 1)).slice(0, MAX_CAUSES),
    services: asked.services.slice(0, MAX_CAUSES),
  };
};

const PACKAGE = /^[a-z0-9][a-z0-9+.:-]{0,127}$/;

/** One cause for each package that the file names, in its version of now; for a file that names none, one for what is installed. */
const fileCauses = async (tools: {
  readonly run: Run;
  readonly signal: AbortSignal;
}): Promise<readonly RebootCause[]> => {
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined);
  if ((await read(FILE)) === undefined) return [];
  const listed = ((await read(PACKAGES)) ?? '').split('\n').map((line) => line.trim());
  const names = [...new Set(listed)].filter((name) => PACKAGE.test(name)).slice(0, MAX_CAUSES);
  if (names.length === 0) {
    // The same packages, the same cause: whatever writes the file at every boot must not lead to one reboot after another.
    const installed = digestOf((await read('/var/lib/dpkg/status')) ?? '');
    return [{ key: `file:${shortDigest(installed)}`, message: `${FILE} is there, and names no package` }];
  }
  const argv = ['dpkg-query', '--show', '--showformat=${Package} ${Version}\\n', '--', ...names];
  const { stdout } = await runQuietly(tools, argv);
  const versions = new Map(stdout.split('\n').map((line) => line.split(' ') as [string, string | undefined]));
  return names.map((name) => {
    const version = versions.get(name) ?? '';
    const shown = version === '' ? name : `${name} ${version}`;
    return { key: `package:${name}=${version}`, message: `${shown} asks for it in ${FILE}` };
  });
};
