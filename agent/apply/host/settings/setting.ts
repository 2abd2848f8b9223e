import { basename } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { Wanted, WantedFile } from '../desired/read-wanted.ts';
import { sysctlLines } from '../live/sysctl-lines.ts';

/** Folders of files that systemd applies at boot, and the program that applies one now (sysusers.d(5), tmpfiles.d(5), sysctl.d(5)). */
const PROGRAMS = {
  '/etc/sysusers.d/': 'sysusers',
  '/etc/tmpfiles.d/': 'tmpfiles',
  '/etc/sysctl.d/': 'sysctl',
} as const;

export type SettingProgram = (typeof PROGRAMS)[keyof typeof PROGRAMS];

/** A file of the package whose content must take effect without a boot. */
export type Setting = { readonly program: SettingProgram; readonly file: WantedFile };

export const programFor = (path: string): SettingProgram | undefined => {
  if (!path.endsWith('.conf')) return undefined;
  const found = Object.entries(PROGRAMS).find(
    ([folder]) => path.startsWith(folder) && !path.slice(folder.length).includes('/'),
  );
  return found?.[1];
};

/** The settings of a package, users first, because others may name them, and by file name, as systemd reads them at boot. */
export const settingsOf = (wanted: Wanted | undefined): readonly Setting[] => {
  const all = [...(wanted?.files.values() ?? [])].flatMap((file): readonly Setting[] => {
    const program = programFor(file.named);
    return program === undefined ? [] : [{ program, file }];
  });
  const sorted = all.toSorted((a, b) => compareBytes(basename(a.file.named), basename(b.file.named)));
  return [
    ...sorted.filter(({ program }) => program === 'sysusers'),
    ...sorted.filter(({ program }) => program !== 'sysusers'),
  ];
};

/** Names of kernel parameters that files of the package set which systemd reads after this one: theirs count. */
export const setLater = (wanted: Wanted, { named }: Pick<WantedFile, 'named'>): ReadonlySet<string> =>
  new Set(
    settingsOf(wanted).flatMap(({ program, file }) =>
      program === 'sysctl' && 'bytes' in file && compareBytes(basename(file.named), basename(named)) > 0
        ? sysctlLines(file.bytes.toString('utf8')).flatMap((line) => line?.name ?? [])
        : [],
    ),
  );

/** Key of the record in started.ts that says with which content the setting took effect. No unit can have this name. */
export const settingRecord = (path: string): string => path.slice('/etc/'.length).replace('/', ':');
