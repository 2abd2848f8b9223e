import type { UnitSetting } from './parse-unit.ts';

/** Bounds for the values of a unit: each function reports whether the package may name the value. */
export type UnitScope = {
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

const units: Rule = (value, scope) =>
  words(value).every(
    (name) => TARGETS(name, scope) || (/^[A-Za-z0-9:_.@-]+$/.test(name) && scope.unit(name)),
  );

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
  `CPUQuota CPUQuotaPeriodSec CPUWeight IOReadBandwidthMax IOWeight IOWriteBandwidthMax IPAddressAllow IPAddressDeny
  MemoryHigh MemoryLow MemoryMax MemoryMin MemorySwapMax TasksMax CPUAccounting IOAccounting IPAccounting MemoryAccounting
  TasksAccounting`,
  anything,
);

/**
 * Allowed settings by section. An allow list, because the ways from a unit to root cannot be listed completely: Exec lines with `+`,
 * files that systemd opens, links that it creates, capabilities.
 */
const SETTINGS: Readonly<Record<string, ReadonlyMap<string, Rule>>> = {
  Unit: new Map([
    ...all(
      `Description Documentation After Before StartLimitBurst StartLimitIntervalSec StopWhenUnneeded CollectMode
      ConditionPathExists ConditionPathIsDirectory ConditionFileNotEmpty ConditionDirectoryNotEmpty ConditionVirtualization
      ConditionArchitecture AssertPathExists AssertFileNotEmpty`,
      anything,
    ),
    ...all('Wants Requires Requisite BindsTo PartOf Upholds OnFailure OnSuccess', units),
  ]),
  Service: new Map([
    ...all('ExecStart ExecStartPre ExecStartPost ExecCondition ExecReload ExecStop ExecStopPost', command),
    ...all('User Group SupplementaryGroups', users),
    ['DynamicUser', oneOf('yes', 'true', 'on', '1', 'no', 'false', 'off', '0')],
    ['Type', oneOf('simple', 'exec', 'oneshot', 'notify', 'notify-reload', 'idle')],
    ...all('StandardOutput StandardError', oneOf('journal', 'inherit', 'null')),
    ['StandardInput', oneOf('null')],
    ['EnvironmentFile', environmentFile],
    ['LoadCredential', credential],
    ['StateDirectory', directoriesIn('/var/lib')],
    ['CacheDirectory', directoriesIn('/var/cache')],
    ['LogsDirectory', directoriesIn('/var/log')],
    ['RuntimeDirectory', directoriesIn('/run')],
    ...all(
      `Environment WorkingDirectory UMask Restart RestartSec RestartSteps RestartMaxDelaySec RestartPreventExitStatus
      RestartForceExitStatus SuccessExitStatus RemainAfterExit TimeoutSec TimeoutStartSec TimeoutStopSec TimeoutAbortSec
      RuntimeMaxSec WatchdogSec NotifyAccess KillMode KillSignal SendSIGHUP SendSIGKILL FinalKillSignal Slice SyslogIdentifier
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
    ...all(
      `OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec OnCalendar AccuracySec RandomizedDelaySec
      FixedRandomDelay Persistent RemainAfterElapse`,
      anything,
    ),
    ['Unit', units],
  ]),
  Path: new Map([
    ...all(
      'PathExists PathExistsGlob PathChanged PathModified DirectoryNotEmpty TriggerLimitBurst TriggerLimitIntervalSec',
      anything,
    ),
    ['Unit', units],
  ]),
  Install: new Map([['DefaultInstance', anything], ...all('WantedBy RequiredBy UpheldBy Also', units)]),
};

/** Whether a unit of a package that may not run as root may have this setting. */
export const allowsSetting = ({ section, name, value }: UnitSetting, scope: UnitScope): boolean => {
  if (section.startsWith('X-') || name.startsWith('X-')) return true;
  const rules = Object.hasOwn(SETTINGS, section) ? SETTINGS[section] : undefined;
  return rules?.get(name)?.(value, scope) ?? false;
};
