import { defined } from '../../defined.ts';
import { digestOf } from '../../digest.ts';
import { canonicalBytes } from '../../json/canonical.ts';
import type { PackageBounds } from '../bundle/config.ts';
import type { HostFile, HostPackage, HostPlaybook } from '../bundle/host-package.ts';
import { isBaseAccount } from './base-accounts.ts';
import { accountOfUnit, countCalendars, unitViolation } from './check-unit.ts';
import { allowsName, allowsPath } from './package-bounds.ts';
import { packageSpans, type Span, secondsOf } from './package-seconds.ts';
import { coversPath, isAgentPath, isAgentUnit, isReserved, SECRETS_IN_MEMORY } from './reserved-paths.ts';
import type { UnitScope } from './unit-settings.ts';

/** One violation of a package's bounds. `part` and `index` locate it in package.json. */
export type BoundsViolation = {
  readonly part:
    | 'directories'
    | 'files'
    | 'secrets'
    | 'units'
    | 'playbooks'
    | 'checks'
    | 'probes'
    | 'install'
    | 'rauc';
  readonly index: number;
  /** A sentence without its full stop. */
  readonly message: string;
  /** The grant that allows it, as written in a Workspace; undefined when no grant can. */
  readonly grant?: string;
  /** The limit that allows it instead of a grant, as written in a Workspace. */
  readonly limit?: string;
};

/** Folder of unit files that are not from the distribution. */
const UNIT_FOLDER = '/etc/systemd/system';

type Part = Pick<BoundsViolation, 'part' | 'index'>;
type Scope = Omit<UnitScope, 'name'>;

/**
 * Everything in a host package that its bounds do not allow.
 * @param bounds 'platform': a package of the platform team; only the agent's own paths and units are refused. 'unsaid': a tenant's
 *   package in a bundle that carries no bounds, built by an older version; reserved paths are refused too
 * @param bytesOf a file's bytes, undefined where it is a blob
 */
export const hostViolations = (
  spec: HostPackage,
  bounds: PackageBounds | 'platform' | 'unsaid',
  bytesOf: (file: HostFile) => Buffer | undefined,
): readonly BoundsViolation[] => {
  const { directories, files, secrets = [], units, playbooks = [], checks, install, rauc } = spec;
  const named = [
    ...directories.map((entry, index) => ({ ...entry, part: 'directories' as const, index })),
    ...files.map((entry, index) => ({ ...entry, part: 'files' as const, index })),
    ...secrets.map((entry, index) => ({ ...entry, part: 'secrets' as const, index })),
  ];
  const ofAgent = [
    ...named.filter(({ path }) => isAgentPath(path)).map((it) => agents(it, it.path)),
    ...units.flatMap(({ name }, index) => (isAgentUnit(name) ? agents({ part: 'units', index }, name) : [])),
  ];
  if (bounds === 'platform') return ofAgent;
  const unitFiles = new Map(units.map(({ name }) => [`${UNIT_FOLDER}/${name}`, name]));
  if (bounds === 'unsaid') {
    const reserved = named.filter(
      ({ path }) => isReserved(path) && !isAgentPath(path) && !unitFiles.has(path),
    );
    return [
      ...ofAgent,
      ...reserved.map((it) => ({ ...partOf(it), ...pathMistake(it.path) })),
      ...playbooks.map(runsAsRoot),
      ...(install ? [INSTALLS] : []),
      ...(rauc ? [REPLACES_SYSTEM] : []),
    ];
  }
  const isPlatforms = (name: string): boolean => bounds.platform?.includes(name) ?? false;
  const isRoot = bounds.users?.includes('root') ?? false;
  const scope = unitScope(spec, bounds);
  return [
    ...ofAgent,
    ...named
      .filter(({ path }) => !isAgentPath(path) && !isPlatforms(path))
      .flatMap((entry): readonly BoundsViolation[] => [
        ...(isAllowed(entry, bounds, unitFiles) ? [] : [{ ...partOf(entry), ...pathMistake(entry.path) }]),
        ...ownersOf(entry, bounds),
        ...(entry.part === 'directories' && !isRoot ? openDirectory(entry) : []),
        ...('set' in entry ? setOf(entry, bounds) : []),
        ...(entry.part === 'files' && unitFiles.has(entry.path) && !isRoot
          ? unitFile(partOf(entry), entry, bytesOf(entry), scope)
          : []),
      ]),
    ...units.flatMap(({ name }, index): readonly BoundsViolation[] =>
      isAgentUnit(name) || isPlatforms(name) || allowsName(bounds.units, name)
        ? []
        : [
            {
              part: 'units',
              index,
              message: `the unit ${name} is not one of its own`,
              grant: `units: [${name}]`,
            },
          ],
    ),
    ...playbooks.flatMap((playbook, index) =>
      isRoot || isPlatforms(playbookKey(playbook)) ? [] : [runsAsRoot(playbook, index)],
    ),
    ...checks.flatMap((check, index): readonly BoundsViolation[] =>
      check.type !== 'exec' || isRoot || isPlatforms(checkKey(check.argv))
        ? []
        : [{ part: 'checks', index, message: `the check ${check.name} runs a program as root`, grant: ROOT }],
    ),
    ...(install && !isRoot ? [INSTALLS] : []),
    ...(rauc ? [REPLACES_SYSTEM] : []),
    ...borrowedAccounts(spec, bounds, bytesOf, isBaseAccount),
    ...overCalendars(spec, bounds, bytesOf),
    ...overTime(spec, bounds, bytesOf),
  ];
};

type UnitFile = { readonly name: string; readonly index: number; readonly bytes: Buffer };

/** Unit files of a package that may not run as root, without those of the platform's templates. */
const ownUnitFiles = (
  { files, units }: Pick<HostPackage, 'files' | 'units'>,
  { users, platform = [] }: PackageBounds,
  bytesOf: (file: HostFile) => Buffer | undefined,
): readonly UnitFile[] => {
  if (users?.includes('root')) return [];
  const names = new Set(units.map(({ name }) => `${UNIT_FOLDER}/${name}`));
  return files.flatMap((file, index): readonly UnitFile[] => {
    const bytes = names.has(file.path) && !platform.includes(file.path) ? bytesOf(file) : undefined;
    return bytes ? [{ name: file.path.slice(UNIT_FOLDER.length + 1), index, bytes }] : [];
  });
};

/**
 * Services with DynamicUser= that systemd runs as an account of the host, because it has the name of the unit.
 * @param isAccount whether the host has a user or group of a name
 */
export const borrowedAccounts = (
  spec: Pick<HostPackage, 'files' | 'units'>,
  bounds: PackageBounds,
  bytesOf: (file: HostFile) => Buffer | undefined,
  isAccount: (name: string) => boolean,
): readonly BoundsViolation[] =>
  ownUnitFiles(spec, bounds, bytesOf).flatMap(({ name, index, bytes }): readonly BoundsViolation[] => {
    const account = accountOfUnit(name, bytes);
    if (account === undefined || !isAccount(account) || bounds.users?.includes(account)) return [];
    return [
      {
        part: 'files',
        index,
        message: `the unit ${name} would run as ${account}, an account of the host with the name of the unit, which DynamicUser= takes`,
        grant: `users: [${account}]`,
      },
    ];
  });

const MAX_CALENDARS = 64;

const overCalendars = (
  spec: HostPackage,
  bounds: PackageBounds,
  bytesOf: (file: HostFile) => Buffer | undefined,
): readonly BoundsViolation[] => {
  const counted = ownUnitFiles(spec, bounds, bytesOf).map((file) => ({
    ...file,
    count: countCalendars(file.name, file.bytes),
  }));
  const sum = counted.reduce((all, { count }) => all + count, 0);
  const [most] = counted.toSorted((a, b) => b.count - a.count);
  if (sum <= MAX_CALENDARS || !most) return [];
  const message = `its timers have ${sum} lines OnCalendar=, ${most.count} of them in ${most.name}: ${MAX_CALENDARS} are allowed, as systemd does nothing else while it computes them`;
  return [{ part: 'files', index: most.index, message, grant: ROOT }];
};

/** Names the entry with the largest share. */
const overTime = (
  spec: HostPackage,
  bounds: PackageBounds,
  bytesOf: (file: HostFile) => Buffer | undefined,
): readonly BoundsViolation[] => {
  const { seconds: limit } = bounds;
  if (limit === undefined) return [];
  const spans = hostSpans(spec, bounds, bytesOf);
  const seconds = secondsOf(spans);
  if (seconds <= limit) return [];
  const [most] = spans.toSorted((a, b) => b.seconds - a.seconds);
  if (!most) return [];
  const { part, index } = most;
  const share = `${nameOf(spec, most)} ${Number.isFinite(most.seconds) ? `for ${most.seconds} s` : 'without an end'}`;
  return [
    defined({
      part,
      index,
      message: Number.isFinite(seconds)
        ? `its checks and services may keep the host waiting for ${seconds} s, of which ${share}; its workspace may for ${limit} s`
        : `the host may have to wait for ${share}: set TimeoutStartSec= and TimeoutStopSec=`,
      limit: Number.isFinite(seconds) ? `packageSeconds: ${seconds}` : undefined,
    }),
  ];
};

const nameOf = ({ checks, probes = [], units }: HostPackage, { part, index }: Span): string => {
  switch (part) {
    case 'checks':
      return `the check ${checks[index]?.name}`;
    case 'probes':
      return `the check ${probes[index]?.name}`;
    case 'units':
      return `the unit ${units[index]?.name}`;
  }
};

/** The longest times of a tenant's package (packageSpans), without those of units that may run as root or are the platform's. */
export const hostSpans = (
  spec: HostPackage,
  { users, platform }: PackageBounds,
  bytesOf: (file: HostFile) => Buffer | undefined,
): readonly Span[] => {
  const files = new Map(spec.files.map((file) => [file.path, file]));
  return packageSpans(spec, (unit) => {
    const path = `${UNIT_FOLDER}/${unit}`;
    const file = users?.includes('root') || platform?.includes(path) ? undefined : files.get(path);
    return file && bytesOf(file);
  });
};

/** Name in `bounds.platform` of a check from the platform's templates. */
export const checkKey = (argv: readonly string[]): string => `check:${JSON.stringify(argv)}`;

/** Name in `bounds.platform` of a playbook from the platform's templates. */
export const playbookKey = (playbook: HostPlaybook): string =>
  `playbook:${digestOf(canonicalBytes(playbook))}`;

const ROOT = 'users: [root]';

const runsAsRoot = ({ name }: HostPlaybook, index: number): BoundsViolation => ({
  part: 'playbooks',
  index,
  message: `the playbook ${name} runs as root`,
  grant: ROOT,
});
const INSTALLS: BoundsViolation = {
  part: 'install',
  index: 0,
  message: 'install runs the maintainer scripts of Debian packages as root',
  grant: ROOT,
};

/** The image brings every program of the host, and its installation reboots it. */
const REPLACES_SYSTEM: BoundsViolation = {
  part: 'rauc',
  index: 0,
  message: 'rauc replaces the whole system of the host and reboots it, which only the platform may',
};

const partOf = ({ part, index }: Part): Part => ({ part, index });

const agents = (part: Part, name: string): BoundsViolation => ({
  ...partOf(part),
  message: `${name} belongs to the agent itself`,
});

const pathMistake = (path: string): Pick<BoundsViolation, 'message' | 'grant'> => ({
  message: isReserved(path)
    ? `${path} is reserved to the system, and root's programs read it`
    : `${path} is not below a path of its own`,
  grant: `paths: [${path}]`,
});

const isAllowed = (
  { part, path }: { readonly part: BoundsViolation['part']; readonly path: string },
  bounds: PackageBounds,
  unitFiles: ReadonlyMap<string, string>,
): boolean =>
  allowsPath(bounds.paths, path) ||
  (part === 'files' && isOwnUnitFile(unitFiles.get(path), bounds)) ||
  // Bounds of versions that let every package name any path there name none of it.
  (part === 'secrets' && isInMemory(path) && !bounds.paths?.some(isInMemory));

const isInMemory = (path: string): boolean =>
  path !== SECRETS_IN_MEMORY && coversPath(SECRETS_IN_MEMORY, path);

/** Whether the package may name the unit is checked with `units`. Units of the platform's templates take no file from it. */
const isOwnUnitFile = (name: string | undefined, { platform = [] }: PackageBounds): boolean =>
  name !== undefined && !platform.includes(name);

const ownersOf = (
  it: Part & { readonly path: string; readonly owner: string; readonly group: string },
  { users = [] }: PackageBounds,
): readonly BoundsViolation[] =>
  [...new Set([it.owner, it.group])]
    .filter((name) => name !== 'root' && !users.includes(name))
    .map((name) => ({
      ...partOf(it),
      message: `${it.path} would belong to ${name}, which is not one of its users`,
      grant: `users: [${name}]`,
    }));

const setOf = (
  it: Part & { readonly path: string; readonly set: string },
  { secretSets }: PackageBounds,
): readonly BoundsViolation[] =>
  allowsName(secretSets, it.set)
    ? []
    : [
        {
          ...partOf(it),
          message: `${it.path} is made of the secret set ${it.set}, which is not one of its own`,
          grant: `secretSets: [${it.set}]`,
        },
      ];

const unitFile = (
  part: Part,
  file: HostFile,
  bytes: Buffer | undefined,
  scope: Scope,
): readonly BoundsViolation[] => {
  const name = file.path.slice(UNIT_FOLDER.length + 1);
  const judge = (content: NonNullable<typeof bytes>): string | undefined =>
    file.format === undefined ? unitViolation(name, content, scope) : 'takes site values';
  const why = bytes === undefined ? 'is too large to be read' : judge(bytes);
  return why === undefined
    ? []
    : [{ ...part, message: `the unit ${name} ${why}, and its workspace may not run as root`, grant: ROOT }];
};

/** Folders from which systemd may read files for a unit, as root. */
const READ_BY_SYSTEMD = ['/etc', '/opt', SECRETS_IN_MEMORY];

const isReadBySystemd = (path: string): boolean => READ_BY_SYSTEMD.some((folder) => coversPath(folder, path));

/** A user who can write to such a folder could place a link to /etc/shadow there, which systemd would read as root. */
const openDirectory = (
  it: Part & { readonly path: string; readonly mode: string; readonly owner: string; readonly group: string },
): readonly BoundsViolation[] => {
  const mode = Number.parseInt(it.mode, 8);
  const isOpen = it.owner !== 'root' || (mode & 0o002) !== 0 || (it.group !== 'root' && (mode & 0o020) !== 0);
  return isOpen && isReadBySystemd(it.path)
    ? [
        {
          ...partOf(it),
          message: `others than root could write to ${it.path}, from which systemd reads files as root`,
          grant: ROOT,
        },
      ]
    : [];
};

/** systemd opens for a unit only files that the package brings, where only root writes. */
const unitScope = (spec: HostPackage, bounds: PackageBounds): Scope => {
  const { users = [] } = bounds;
  const brought = new Set([...spec.files, ...(spec.secrets ?? [])].map(({ path }) => path));
  return {
    unit: (name) => allowsName(bounds.units, name) && !isAgentUnit(name),
    user: (name) => name !== 'root' && users.includes(name),
    directory: (path) =>
      allowsPath(bounds.paths, path) &&
      !isReserved(path) &&
      !path.split('/').includes('..') &&
      !path.includes('//'),
    file: (path) => brought.has(path) && isReadBySystemd(path),
  };
};
