import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Apt, CONFIG, DPKG, INDEX } from './apt.ts';
import type { InvokeHooks } from './invoke-hooks.ts';

/**
 * dpkg reads its configuration files, also ~/.dpkg.cfg, before its arguments, and nothing turns that off. So the arguments take back
 * what files can set: dpkg forces what it does by default, installs every path, below '/', and checks no signature of a single
 * package, as the agent has verified the release. Maintainer scripts and what they start do not see the configuration of apt that
 * this step has.
 */
const DPKG_SCRIPT = `#!/bin/sh
unset APT_CONFIG
exec dpkg --root=/ --no-force-all --force-security-mac,downgrade '--path-include=*' --no-debsig "$@"
`;

/** Makes the folder for configuration, lists and caches. `status`: path of a status file that apt reads in place of dpkg's. */
export const prepareApt = async (
  apt: Apt,
  { hooks, status }: { readonly hooks?: InvokeHooks; readonly status?: string } = {},
): Promise<void> => {
  const { repository, scratch } = apt;
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(scratch, folder), { recursive: true, mode: 0o700 });
  const index = await readFile(join(repository, INDEX), 'utf8').catch(() => '');
  await writeFile(join(scratch, 'preferences'), preferRepository(index));
  await writeFile(join(scratch, DPKG), DPKG_SCRIPT, { mode: 0o700 });
  await writeFile(join(scratch, CONFIG), configOf(apt, hooks, status));
};

/** apt reads the file of APT_CONFIG before all others, and this one names no others (apt.conf(5)). */
const configOf = (
  { scratch, lockSeconds }: Apt,
  hooks: InvokeHooks | undefined,
  status: string | undefined,
): string => {
  const settings: readonly (readonly [string, string])[] = [
    ['Dir::Etc::main', '/dev/null'],
    ['Dir::Etc::parts', '/dev/null'],
    ['Dir::Etc::SourceList', '/dev/null'],
    ['Dir::Etc::SourceParts', '/dev/null'],
    ['Dir::Etc::Preferences', join(scratch, 'preferences')],
    ['Dir::Etc::PreferencesParts', '/dev/null'],
    ['Dir::State::Lists', join(scratch, 'lists')],
    ['Dir::Cache', join(scratch, 'cache')],
    ['Dir::Bin::dpkg', join(scratch, DPKG)],
    ['Acquire::Languages', 'none'],
    // Only root can enter the folders of a step; apt's own user cannot.
    ['APT::Sandbox::User', 'root'],
    ['APT::Install-Recommends', 'false'],
    ['APT::Get::AutomaticRemove', 'false'],
    ['DPkg::Lock::Timeout', String(lockSeconds)],
    ...(status === undefined ? [] : [['Dir::State::status', status] as const]),
    ...(hooks?.before ?? []).map((program) => ['DPkg::Pre-Invoke::', program] as const),
    ...(hooks?.after ?? []).map((program) => ['DPkg::Post-Invoke::', program] as const),
  ];
  return settings.map(([name, value]) => `${name} "${value}";\n`).join('');
};

/**
 * Prefers what the repository has to newer versions on the host. After a power cut on the way to an older version dpkg asks for the
 * package again, and apt takes the preferred version for it before it reads its arguments.
 */
const preferRepository = (index: string): string =>
  index
    .split('\n\n')
    .flatMap((entry) => {
      const [, name] = /^Package: (\S+)$/m.exec(entry) ?? [];
      const [, version] = /^Version: (\S+)$/m.exec(entry) ?? [];
      if (name === undefined || version === undefined) return [];
      return `Package: ${name}\nPin: version ${version}\nPin-Priority: 1001\n`;
    })
    .join('\n');
