import { globSync } from 'node:fs';
import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import { type Parameter, readParameter } from '../live/read-parameter.ts';
import { isSameValue, type SysctlLine, sysctlLines } from '../live/sysctl-lines.ts';

/** A kernel parameter of a settings file that has another value now. */
export type SysctlDifference = {
  readonly name: string;
  readonly wanted: string;
  /** undefined if the kernel has no such parameter or does not show it. */
  readonly live: string | undefined;
  /** `missing`: a module or an interface has yet to bring it, so that nobody can set it now. `private`: not every user may read it. */
  readonly why?: 'missing' | 'private';
};

export const describeSysctl = ({ name, wanted, live, why }: SysctlDifference): string => {
  switch (why) {
    case 'missing':
      return `${name} does not exist: it is set when its module is loaded or its interface appears`;
    case 'private':
      return `${name} has another value than the package sets`;
    case undefined:
      return `${name} is ${live ?? 'unknown to this kernel'}, not ${wanted}`;
    default:
      return why satisfies never;
  }
};

/** Record of readBack: a digest of the state that each parameter had when the settings took effect, by key. */
export type SettingRecord = { readonly [key: string]: unknown };

/** Names that a later file of the package sets, which go over those of this file. */
type Later = ReadonlySet<string>;

/**
 * Compares the lines `name = value` of a sysctl.d file with the kernel. A parameter that the kernel still shows as it did when the
 * settings took effect is as it was set, however the kernel spells, rounds or hides it. Without that record only lines that may not
 * fail and that name one parameter are compared, as integers where both sides are. @throws FleetError PERMISSION, IO
 */
export const sysctlDifferences = async (
  bytes: Buffer,
  before: SettingRecord = {},
  later: Later = new Set(),
): Promise<readonly SysctlDifference[]> => {
  const differences: SysctlDifference[] = [];
  for (const line of expanded(bytes, later)) {
    const found = await readParameter(line.path);
    const known = before[keyOf(line)];
    if (known === undefined || isAbsent(known)) {
      // A line that may fail counts from when it took effect, and a parameter that was absent from when it appears.
      if (known === undefined && (line.mayFail || line.isMatch)) continue;
      if (line.mayFail && found.state === 'absent') continue;
      differences.push(...compare(line, found));
    } else if (known !== digestOfState(found)) differences.push(different(line, found));
  }
  return differences;
};

/** The state of each parameter of the file, for the record of a setting that has just taken effect. */
export const recordSettings = async (
  bytes: Buffer,
  later: Later,
): Promise<{ readonly [key: string]: Digest }> =>
  Object.fromEntries(
    await Promise.all(
      expanded(bytes, later).map(
        async (line) => [keyOf(line), digestOfState(await readParameter(line.path))] as const,
      ),
    ),
  );

type Line = SysctlLine & { /** It comes from a pattern. */ readonly isMatch: boolean };

/** The last line of each name counts, as in sysctl.d(5); one that names a parameter counts over patterns that match it. */
const expanded = (bytes: Buffer, later: Later): readonly Line[] => {
  const lines = sysctlLines(bytes.toString('utf8')).filter((line) => line !== undefined);
  const found = new Map<string, Line>();
  for (const line of lines.filter(({ isPattern, path }) => isPattern && !path.split('/').includes('..')))
    for (const path of globSync(line.path, { cwd: '/proc/sys' }))
      found.set(path, {
        ...line,
        path,
        name: path.includes('.') ? path : path.replaceAll('/', '.'),
        isMatch: true,
      });
  const excluded = /^\s*-\s*([^=\s]+)\s*$/gm;
  for (const [, name] of bytes.toString('utf8').matchAll(excluded))
    found.delete(sysctlLines(`${name} = x`)[0]?.path ?? '');
  for (const line of lines.filter(({ isPattern }) => !isPattern)) {
    for (const [key, { path, isMatch }] of found) if (isMatch && path === line.path) found.delete(key);
    found.set(line.name, { ...line, isMatch: false });
  }
  return [...found.values()].filter(({ name }) => !later.has(name));
};

const keyOf = ({ path }: Line): string => `sysctl:${path}`;

const digestOfState = (found: Parameter): Digest => digestOf(JSON.stringify(found));

const isAbsent = (known: unknown): boolean =>
  known === digestOfState({ state: 'absent', isKnown: true }) ||
  known === digestOfState({ state: 'absent', isKnown: false });

const compare = (line: Line, found: Parameter): readonly SysctlDifference[] => {
  switch (found.state) {
    case 'set':
      return isSameValue(line.value, found.value) ? [] : [different(line, found)];
    case 'absent':
      return [different(line, found)];
    case 'write-only':
    case 'unreadable':
      return [];
    default:
      return found satisfies never;
  }
};

const different = ({ name, value: wanted }: Line, found: Parameter): SysctlDifference => {
  switch (found.state) {
    case 'set':
      return found.isPrivate
        ? { name, wanted, live: undefined, why: 'private' }
        : { name, wanted, live: found.value };
    case 'absent':
      return { name, wanted, live: undefined, ...defined({ why: found.isKnown ? undefined : 'missing' }) };
    case 'write-only':
    case 'unreadable':
      return { name, wanted, live: undefined, why: 'private' };
    default:
      return found satisfies never;
  }
};
