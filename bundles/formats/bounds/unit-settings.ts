import type { UnitSetting } from './parse-unit.ts';
import { parseTimeSpan } from './time-span.ts';

/** Bounds for the values of a unit: each function reports whether the package may name the value. */
export type UnitScope = {
  /** Name of the unit, with its suffix. */
  readonly name: string;
  readonly unit: (name: string) => boolean;
  readonly user: (name: string) => boolean;
  /** A directory that systemd creates for the unit's user. */
  readonly directory: (path: string) => boolean;
  /** A file that systemd reads as root and passes to the unit. */
  readonly file: (path: string) => boolean;
};

type Rule = (value: string, scope: UnitScope) => boolean;

const anything: Rule = () => true;
const words = (value: string): readonly string[] => value.split(/\s+/).filter((word) => word !== '');
const oneOf =
  (...allowed: readonly string[]): Rule =>
  (value) =>
    allowed.includes(value);

/** Targets that every host has and that start nothing by being named. */
const TARGETS = oneOf(
  'basic.target',
  'default.target',
  'graphical.target',
  'local-fs.target',
  'multi-user.target',
  'network-online.target',
  'network.target',
  'nss-lookup.target',
  'nss-user-lookup.target',
  'paths.target',
  'remote-fs.target',
  'sockets.target',
  'sysinit.target',
  'time-sync.target',
  'timers.target',
);

const isOwn: Rule = (name, scope) => /^[A-Za-z0-9:_.@-]+$/.test(name) && scope.unit(name);

const units: Rule = (value, scope) =>
  words(value).every((name) => TARGETS(name, scope) || isOwn(name, scope));

const ownUnits: Rule = (value, scope) => words(value).every((name) => isOwn(name, scope));

/** Another slice has the memory and processor time of others, and -.slice as much as all services of the system together. */
const slices: Rule = (value, scope) =>
  words(value).every((name) => name === 'system.slice' || (name.endsWith('.slice') && isOwn(name, scope)));

/**
 * Targets that a boot reaches last. A unit that they pull in, or that is ordered before them, delays nothing else. An earlier
 * target would wait for the unit together with everything ordered after that target: the agent, too.
 */
const LATE = oneOf('multi-user.target', 'graphical.target', 'default.target');

/** paths.target comes before basic.target, and only .path units start before that, too. */
const pulledInBy: Rule = (value, scope) =>
  words(value).every(
    (name) =>
      LATE(name, scope) ||
      (name === 'timers.target' && /\.(?:timer|service)$/.test(scope.name)) ||
      (name === 'paths.target' && scope.name.endsWith('.path')) ||
      isOwn(name, scope),
  );

/** Units that are ordered after this one wait while it starts. */
const before: Rule = (value, scope) =>
  words(value).every((name) => LATE(name, scope) || name === 'shutdown.target' || isOwn(name, scope));

/**
 * Waiting for other units delays only this one. A late target may wait for it already: systemd would break that cycle by leaving
 * out one of its jobs, possibly another's.
 */
const after: Rule = (value, scope) =>
  words(value).every(
    (name) => !name.endsWith('.target') || (TARGETS(name, scope) && !LATE(name, scope)) || isOwn(name, scope),
  );

/** An end that systemd waits for. 0 and infinity mean none (systemd.service(5)). */
const finite: Rule = (value) => Number.isFinite(parseTimeSpan(value) ?? Number.POSITIVE_INFINITY);

/** At most the weight of every unit that sets none. */
const weight: Rule = (value) => value === 'idle' || (/^[0-9]{1,3}$/.test(value) && Number(value) <= 100);

const users: Rule = (value, scope) => words(value).every((name) => scope.user(name));

/**
 * `+`, `!` and `|` run a command as root or in a shell of its own, in quotes and as `\x2b` too; so does a command behind a lone
 * semicolon.
 */
const command: Rule = (value) =>
  value === '' || (/^[-@:]*[A-Za-z0-9/_.]/.test(value) && !/(?:^|\s);(?:\s|$)/.test(value));

/** An absolute path without patterns and specifiers, which systemd would expand. */
const plainPath = (path: string): boolean => /^\/[A-Za-z0-9._@/+:-]+$/.test(path);

const directoriesIn =
  (home: string): Rule =>
  (value, { directory }) =>
    words(value).every((name) => /^[A-Za-z0-9._/-]+$/.test(name) && directory(`${home}/${name}`));

/** '-/etc/label/x.env': with the minus the file is optional. */
const environmentFile: Rule = (value, { file }) => {
  const path = value.replace(/^-/, '');
  return value === '' || (plainPath(path) && file(path));
};

/** 'name:/etc/label/key'. */
const credential: Rule = (value, { file }) => {
  const path = /^[A-Za-z0-9_.-]{1,128}:(\/.*)$/.exec(value)?.[1] ?? '';
  return plainPath(path) && file(path);
};

const all = (names: string, rule: Rule): readonly (readonly [string, Rule])[] =>
  words(names).map((name) => [name, rule]);

const RESOURCES = all(
  `CPUQuota CPUQuotaPeriodSec IOReadBandwidthMax IOWriteBandwidthMax IPAddressAllow IPAddressDeny
  MemoryHigh MemoryMax MemorySwapMax TasksMax CPUAccounting IOAccounting IPAccounting MemoryAccounting
  TasksAccounting`,
  anything,
).concat(all('CPUWeight IOWeight', weight));

/**
 * Allowed settings by section. An allow list, because neither the ways from a unit to root can be listed completely (Exec lines with
 * `+`, files that systemd opens, links that it creates, capabilities), nor those by which a unit delays a boot, a shutdown or other
 * units (order, pulling into early targets, ends that never come, memory and weight taken from others).
 */
const SETTINGS: Readonly<Record<string, ReadonlyMap<string, Rule>>> = {
  Unit: new Map([
    ...all(
      `Description Documentation StartLimitBurst StartLimitIntervalSec StopWhenUnneeded CollectMode
      ConditionPathExists ConditionPathIsDirectory ConditionFileNotEmpty ConditionDirectoryNotEmpty ConditionVirtualization
      ConditionArchitecture AssertPathExists AssertFileNotEmpty`,
      anything,
    ),
    ['After', after],
    ['Before', before],
    ...all('Wants Requires Requisite BindsTo PartOf Upholds OnFailure OnSuccess', units),
  ]),
  Service: new Map([
    ...all('ExecStart ExecStartPre ExecStartPost ExecCondition ExecReload ExecStop ExecStopPost', command),
    ...all('User Group SupplementaryGroups', users),
    ['DynamicUser', oneOf('yes', 'true', 'on', '1', 'no', 'false', 'off', '0')],
    ['Type', oneOf('simple', 'exec', 'oneshot', 'notify', 'notify-reload', 'idle')],
    ...all('StandardOutput StandardError', oneOf('journal', 'inherit', 'null')),
    ['StandardInput', oneOf('null')],
    ...all('TimeoutSec TimeoutStartSec TimeoutStopSec TimeoutAbortSec', finite),
    ['KillMode', oneOf('control-group', 'mixed')],
    ['SendSIGKILL', oneOf('yes', 'true', 'on', '1')],
    ['FinalKillSignal', oneOf('SIGKILL', 'KILL', '9')],
    ['EnvironmentFile', environmentFile],
    ['LoadCredential', credential],
    ['StateDirectory', directoriesIn('/var/lib')],
    ['CacheDirectory', directoriesIn('/var/cache')],
    ['LogsDirectory', directoriesIn('/var/log')],
    ['RuntimeDirectory', directoriesIn('/run')],
    ['Slice', slices],
    ...all(
      `Environment WorkingDirectory UMask Restart RestartSec RestartSteps RestartMaxDelaySec RestartPreventExitStatus
      RestartForceExitStatus SuccessExitStatus RemainAfterExit RuntimeMaxSec WatchdogSec NotifyAccess KillSignal SendSIGHUP
      SyslogIdentifier
      LogRateLimitBurst LogRateLimitIntervalSec LimitNOFILE LimitNPROC LimitCORE StateDirectoryMode CacheDirectoryMode
      LogsDirectoryMode RuntimeDirectoryMode RuntimeDirectoryPreserve NoNewPrivileges CapabilityBoundingSet
      DevicePolicy IPAddressAllow InaccessiblePaths KeyringMode LockPersonality MemoryDenyWriteExecute NoExecPaths ExecPaths
      PrivateDevices PrivateIPC PrivateMounts PrivateNetwork PrivateTmp PrivateUsers ProcSubset ProtectClock
      ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables
      ProtectProc ProtectSystem ReadOnlyPaths ReadWritePaths RemoveIPC RestrictAddressFamilies RestrictFileSystems
      RestrictNamespaces RestrictRealtime RestrictSUIDSGID SystemCallArchitectures SystemCallErrorNumber SystemCallFilter`,
      anything,
    ),
    ...RESOURCES,
  ]),
  Slice: new Map(RESOURCES),
  Timer: new Map([
    ['OnCalendar', (value) => value.length <= 100],
    ...all(
      `OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec AccuracySec RandomizedDelaySec
      FixedRandomDelay Persistent RemainAfterElapse`,
      anything,
    ),
    ['Unit', units],
  ]),
  Path: new Map([
    // Without PathExistsGlob: systemd's manager itself searches, expands braces and holds every match in its memory.
    ...all(
      'PathExists PathChanged PathModified DirectoryNotEmpty TriggerLimitBurst TriggerLimitIntervalSec',
      anything,
    ),
    ['Unit', units],
  ]),
  Install: new Map([
    ['DefaultInstance', anything],
    ...all('WantedBy UpheldBy', pulledInBy),
    // A target that requires a unit fails with it.
    ...all('RequiredBy Also', ownUnits),
  ]),
};

/** Whether a unit of a package that may not run as root may have this setting. */
export const allowsSetting = ({ section, name, value }: UnitSetting, scope: UnitScope): boolean => {
  if (section.startsWith('X-') || name.startsWith('X-')) return true;
  const rules = Object.hasOwn(SETTINGS, section) ? SETTINGS[section] : undefined;
  return rules?.get(name)?.(value, scope) ?? false;
};
