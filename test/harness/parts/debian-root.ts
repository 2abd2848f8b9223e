import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';
import { asRoot, rootAccess } from '../hosts/as-root.ts';
import { findProgram } from '../run/find-program.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { aptInstall } from './apt-install.ts';
import { formatAptSource, readAptSource } from './apt-source.ts';
import { buildVersion } from './cache-folder.ts';
import { unpackDebianPackage } from './debian-package.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

const BOOKWORM = 'bookworm';

/** What makes a Debian bootable as a host: systemd, a network to look at, and what Node and Python programs want. */
export const HOST_PACKAGES: readonly string[] = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'libpam-systemd',
  'init-system-helpers',
  'iproute2',
  'ca-certificates',
  'libstdc++6',
];

/** Units that want a network, a clock of their own or a day's uptime. */
const masked = [
  'systemd-timesyncd.service',
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'e2scrub_all.timer',
  'fstrim.timer',
];

const customize = [
  ': > "$1/etc/machine-id"',
  'rm -f "$1/var/lib/dbus/machine-id"',
  // A journal on disk, so that a test can read the boot before the power cut.
  'mkdir -p "$1/var/log/journal"',
  ...masked.map((unit) => `ln -sf /dev/null "$1/etc/systemd/system/${unit}"`),
];

/** In a root: what was unpacked over the packages that dpkg knows, in the form of its own file. */
export const NEWER = 'etc/unpacked-packages';

const slim = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*'].map(
  (path) => `--dpkgopt=path-exclude=${path}`,
);

export type DebianRoot = Pick<Part, 'title' | 'variable'> & {
  /** Its folder in the cache. */
  readonly name: string;
  readonly packages: readonly string[];
  /** 'bookworm' by default. */
  readonly suite?: string;
  /** Packages of Debian sid that are unpacked over it: a program newer than its suite has. */
  readonly newer?: readonly string[];
  /** Settings of apt while it is made. */
  readonly aptOptions?: readonly string[];
};

/** A read-only root file system to lie under factory hosts: Debian with systemd and `packages`, made once. */
export const debianRoot = ({
  title,
  variable,
  name,
  packages,
  suite = BOOKWORM,
  newer = [],
  aptOptions = [],
}: DebianRoot): Part => {
  const made = [packages, customize, slim];
  const hash = createHash('sha256').update(JSON.stringify(newer.length > 0 ? [...made, newer] : made));
  const version = `${suite}-${hash.digest('hex').slice(0, 12)}`;
  const family = (machine: Machine): string => join(machine.cache, name);
  const base = (machine: Machine): string => join(family(machine), version, 'root');
  return {
    title,
    variable,
    source: `a Debian ${suite} of ${packages.length} packages by mmdebstrap, into the cache, about a minute`,
    find: (machine) =>
      existsSync(base(machine)) && whyNotHere(machine.env) === undefined ? base(machine) : undefined,
    install: async (machine) => {
      const reason = whyNotHere(machine.env);
      if (reason !== undefined) throw new FleetError('TOOL_MISSING', reason);
      const source = readAptSource();
      if (findProgram('mmdebstrap', machine.env) === undefined) await aptInstall(['mmdebstrap'], machine);
      await using work = await temporaryDirectory('base');
      const sources = join(work.path, 'debian.sources');
      await writeFile(sources, formatAptSource(source, suite));
      await mkdir(family(machine), { recursive: true });
      await buildVersion(family(machine), async (temporary) => {
        const root = join(temporary, 'root');
        await orExplain("mmdebstrap could not make the host's file system", () =>
          runOrFail(
            asRoot([
              'mmdebstrap',
              '--quiet',
              '--mode=root',
              '--variant=apt',
              `--include=${packages.join(',')}`,
              ...aptOptions.map((option) => `--aptopt=${option}`),
              ...slim,
              ...customize.map((line) => `--customize-hook=${line}`),
              suite,
              root,
              sources,
            ]),
            { signal: machine.signal },
          ),
        );
        for (const one of newer) {
          const version = await unpackDebianPackage(one, 'sid', root, machine);
          await appendFile(join(root, NEWER), `Package: ${one}\nVersion: ${version}\n\n`);
        }
        return version;
      });
      return base(machine);
    },
  };
};

/** A host needs root's rights and cgroups to boot. Says what is missing, or undefined. */
const whyNotHere = (env: NodeJS.ProcessEnv): string | undefined => {
  if (process.platform !== 'linux') return 'A factory host needs Linux.';
  if (rootAccess() === 'none') return 'A factory host needs root, or a sudo that asks for no password.';
  const missing = ['unshare', 'nsenter', 'setpriv', 'pivot_root'].find((name) => !findProgram(name, env));
  if (missing !== undefined) return `A factory host needs '${missing}' (package util-linux).`;
  return existsSync('/sys/fs/cgroup/cgroup.procs') || existsSync('/sys/fs/cgroup/systemd')
    ? undefined
    : 'A factory host needs cgroups mounted at /sys/fs/cgroup.';
};
