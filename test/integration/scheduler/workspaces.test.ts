import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Digest } from '../../../bundles/digest.ts';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { unpackBundle } from '../../../scheduler/load/releases/unpack-bundle.ts';
import {
  clusterTarget,
  hostPackage,
  hostTarget,
  makeTeams,
  plainTeam,
  workload,
} from '../../harness/fleets/two-teams.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { buildDeb } from '../hosts/debs-host/test-deb.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';

/**
 * The sentences of docs/workspaces.md that promise something to a team, or of a team to the others, each tried by a team of its own in one
 * `fleet-scheduler build`. A team whose package is held holds nobody else: all others of that build are released.
 */
type Team = {
  /** The sentence, as it stands or shortened. */
  readonly says: string;
  /** The row of the attack table, where a team breaks the sentence. */
  readonly row?: string;
  /** The code with which its package is held; undefined: it is built. */
  readonly code?: string;
  /** A part of what the command prints about it: the grant that allows it. */
  readonly said?: string;
  /** Its assignment, where it is not called like the registration. */
  readonly assignment?: string;
  /** spec of the Workspace; by default empty. */
  readonly workspace?: object;
  /** Name of the registration, which is its repository's, too. By default one that no host knows. */
  readonly name?: string;
  readonly files: (name: string) => Readonly<Record<string, string>>;
};

const onHost =
  (spec: (name: string) => object, target: object = {}) =>
  (name: string): Readonly<Record<string, string>> => ({
    'workload/workload.yaml': workload(name, [{ ...hostTarget, ...target }]),
    'host/package.yaml': hostPackage(name, spec(name)),
  });

const at = (path: (name: string) => string, more: object = {}) =>
  onHost((name) => ({ files: [{ path: path(name), content: 'x', ...more }] }));

const unit = (suffix: string, lines: string) =>
  onHost((name) => ({
    units: [{ name: `${name}${suffix}`, content: `${lines}\n`, enabled: false, active: false }],
  }));
const service = (lines: string, section = 'Service') =>
  unit('.service', `[Service]\nDynamicUser=yes\nExecStart=/bin/true\n[${section}]\n${lines}`);

const onCluster =
  (...objects: readonly object[]) =>
  (name: string): Readonly<Record<string, string>> => ({
    'workload/workload.yaml': workload(name, [clusterTarget]),
    'cluster/objects.yaml': objects.map((one) => JSON.stringify(one)).join('\n---\n'),
  });
const secretOf = (set: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', annotations: { 'fleet-ferry/secret-set': set } },
});

const asks = onHost((name) => ({
  files: [{ path: `/etc/${name}/a`, content: 'A=1\n', format: 'env' }],
  siteInputs: [{ name: `line-${name}`, schema: { type: 'string' }, file: `/etc/${name}/a`, pointer: '/A' }],
}));
const secretAt = (path: (name: string) => string, set: (name: string) => string = (name) => name) =>
  onHost((name) => ({ secrets: [{ path: path(name), set: set(name), key: 'k' }] }));

const BOUNDS = 'OUT_OF_BOUNDS';
/** Replaced by a Debian package. */
const DEB = 'DEB';

/** What a package may name: the defaults, what a grant adds, and what none adds. */
const NAMES: readonly Team[] = [
  ...[
    '/etc/NAME/a',
    '/opt/NAME',
    '/srv/NAME/a/b',
    '/run/NAME/a',
    '/var/lib/NAME/a',
    '/var/cache/NAME/a',
    '/var/log/NAME/a',
    '/etc/team-NAME/a',
    '/var/lib/fleet-ferry/apt/NAME-host/a',
  ].map(
    (path): Team => ({
      says: `files at and below folders of the registration's and workspace's name: ${path}`,
      files: at((name) => path.replace('NAME', name)),
    }),
  ),
  ...[
    '/etc/NAMES/a',
    '/etc/NAME.d/a',
    '/etc/nobody-NAME/a',
    '/mnt/NAME/a',
    '/NAME/a',
    '/tmp/NAME',
    '/media/NAME/a',
    '/var/lib/fleet-ferry/apt/other-host/a',
    '/var/lib/fleet-ferry/a',
    '/etc/systemd/system/NAME.service',
    '/etc/systemd/system/NAME.service.d/a.conf',
  ].map(
    (path): Team => ({
      says: `no files elsewhere, and no unit files as plain files: ${path}`,
      row: 'N20',
      code: BOUNDS,
      files: at((name) => path.replace('NAME', name)),
    }),
  ),
  {
    says: "the workload's own name does not count",
    row: 'N20',
    code: BOUNDS,
    assignment: 'cron-host',
    files: (name) => ({
      'workload/workload.yaml': workload('cron', [hostTarget]),
      'host/package.yaml': hostPackage(name, { files: [{ path: '/etc/cron/a', content: 'x' }] }),
    }),
  },
  {
    says: 'a granted path and all below it',
    workspace: { host: { paths: ['/srv/labels', '/etc/cron.d/labels'] } },
    files: onHost(() => ({
      files: ['/srv/labels/a', '/etc/cron.d/labels'].map((path) => ({ path, content: 'x' })),
    })),
  },
  {
    says: '/srv/granted covers /srv/granted/a, and not /srv/granted-old',
    row: 'N20',
    code: BOUNDS,
    workspace: { host: { paths: ['/srv/granted'] } },
    files: at(() => '/srv/granted-old/a'),
  },
  ...['cron.d/NAME', 'sudoers.d/NAME', 'extensions/NAME/a', 'ansible/facts.d/NAME', 'userdb/NAME.user'].map(
    (path): Team => ({
      says: `paths: [/etc] does not grant a reserved path: /etc/${path}`,
      row: 'N20',
      code: BOUNDS,
      workspace: { host: { paths: ['/etc'] } },
      files: at((name) => `/etc/${path.replace('NAME', name)}`),
    }),
  ),
  ...['tmpfiles.d', 'sysctl.d', 'extensions', 'userdb', 'modprobe.d', 'udev/rules.d', 'polkit-1/rules.d'].map(
    (folder): Team => ({
      says: `paths: [/run] does not grant a reserved path: /run/${folder}`,
      row: 'N20',
      code: BOUNDS,
      workspace: { host: { paths: ['/run'] } },
      files: at((name) => `/run/${folder}/${name}.conf`),
    }),
  ),
  ...(
    [
      ['ssh', '/etc/ssh/a'],
      ['ansible', '/etc/ansible/ansible.cfg'],
      ['needrestart', '/etc/needrestart/conf.d/a'],
      ['extensions', '/var/lib/extensions/a/usr/bin/ls'],
      ['userdb', '/run/userdb/a.user'],
      ['machines', '/var/lib/machines/a'],
      ['credstore', '/etc/credstore/a'],
    ] as const
  ).map(
    ([name, path]): Team => ({
      says: `a registration called ${name} has no ${path}`,
      row: 'N20',
      code: BOUNDS,
      name,
      files: at(() => path),
    }),
  ),
  {
    says: "no grant changes that the agent's own files are refused",
    row: 'N21',
    code: BOUNDS,
    said: 'no Workspace can grant it',
    workspace: { host: { paths: ['/etc/fleet-agent'], users: ['root'] } },
    files: at(() => '/etc/fleet-agent/agent.yaml'),
  },
  {
    says: 'secrets at and below /run/<name> and /run/fleet-agent/secrets/<name>',
    files: onHost((name) => ({
      secrets: [`/run/${name}/a`, `/run/fleet-agent/secrets/${name}/a`].map((path) => ({
        path,
        set: name,
        key: 'k',
      })),
    })),
  },
  {
    says: 'secrets are always below /run',
    code: 'FIELD_INVALID',
    files: secretAt((name) => `/etc/${name}/a`),
  },
  {
    says: 'a secret at a path below /run/fleet-agent/secrets that is not its own',
    row: 'N42',
    code: BOUNDS,
    files: secretAt(() => '/run/fleet-agent/secrets/payments/a'),
  },
  {
    says: 'secret sets: <name>, exactly',
    row: 'N26',
    code: BOUNDS,
    files: secretAt(
      (name) => `/run/${name}/a`,
      (name) => `${name}-2`,
    ),
  },
  {
    says: 'a secret set that secretSets grants by a pattern',
    workspace: { host: { secretSets: ['line-*'] } },
    files: secretAt(
      (name) => `/run/${name}/a`,
      () => 'line-7',
    ),
  },
  {
    says: 'owners and groups: root',
    row: 'N25',
    code: BOUNDS,
    said: 'users: [lp]',
    files: at((name) => `/etc/${name}/a`, { owner: 'lp' }),
  },
  {
    says: 'a granted user as the owner',
    workspace: { host: { users: ['lp'] } },
    files: at((name) => `/etc/${name}/a`, { owner: 'lp', group: 'lp' }),
  },
  ...['4755', '2755', '6755', '1777', '04755'].map(
    (mode): Team => ({
      says: `no file that runs as its owner: mode ${mode}`,
      code: 'FIELD_INVALID',
      files: at((name) => `/opt/${name}/a`, { mode }),
    }),
  ),
  {
    says: 'exec checks: none',
    row: 'N24',
    code: BOUNDS,
    files: onHost(() => ({ checks: [{ name: 'a', type: 'exec', argv: ['/bin/true'] }] })),
  },
  {
    says: 'Ansible playbooks: none',
    row: 'N19',
    code: BOUNDS,
    files: onHost(() => ({ playbooks: [{ name: 'a', content: '- hosts: localhost\n  tasks: []\n' }] })),
  },
  {
    says: 'the installation of Debian packages needs root',
    row: 'N23',
    code: BOUNDS,
    files: (name) => ({
      ...onHost(() => ({
        debs: [{ source: 'debs/one.deb' }],
        install: { packages: [{ name: 'one' }] },
        folders: { apt: '/srv/one' },
      }))(name),
      'host/debs/one.deb': DEB,
    }),
    workspace: { host: { paths: ['/srv/one'] } },
  },
  {
    says: 'folders of contents are paths like others',
    row: 'N20',
    code: BOUNDS,
    files: onHost((name) => ({
      files: [{ path: `/etc/${name}/a`, content: 'x' }],
      directories: [{ path: '/var/lib/payments' }],
    })),
  },
];

/** Units: their names, and what they may have without root. */
const UNITS: readonly Team[] = [
  {
    says: 'units <name>.* and <name>@*, with DynamicUser=yes',
    files: onHost((name) => ({
      units: [
        { name: `${name}.service`, content: '[Service]\nDynamicUser=yes\nExecStart=/bin/true\n' },
        { name: `${name}@.service`, content: '[Service]\nDynamicUser=yes\nExecStart=/bin/true\n' },
        { name: `${name}.timer`, content: '[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n' },
        { name: `team-${name}.slice`, content: '[Slice]\nMemoryMax=64M\n' },
      ].map((one) => ({ ...one, enabled: false, active: false })),
    })),
  },
  ...['ssh.service', 'cups.service', 'NAME-2.service', 'NAMES.service', 'multi-user.target', '-.slice'].map(
    (name): Team => ({
      says: `no other unit: ${name}`,
      row: 'N22',
      code: BOUNDS,
      files: onHost((own) => ({
        units: [{ name: name.replace('NAME', own), enabled: false, active: false }],
      })),
    }),
  ),
  {
    says: 'a unit of the host is granted by its name, to enable, start, stop and restart it',
    workspace: { host: { units: ['cups.service', 'label-*'] } },
    files: onHost(() => ({
      units: ['cups.service', 'label-1.service'].map((name) => ({ name, enabled: true, active: true })),
    })),
  },
  ...['root', 'backup', 'mail', 'www-data', 'games', 'postgres'].map(
    (name): Team => ({
      says: `the user of units is DynamicUser=yes, and no account of the host, for a registration called ${name}`,
      row: 'N29',
      code: BOUNDS,
      said: `users: [${name}]`,
      name,
      files: service('Restart=no'),
    }),
  ),
  {
    says: 'users: [root] and nothing else trusts a team with the host, also with units: ["*"]',
    row: 'N29',
    code: BOUNDS,
    said: 'root.service would run as root',
    workspace: { host: { units: ['*'] } },
    files: onHost(() => ({
      units: [
        { name: 'root.service', content: '[Service]\nDynamicUser=yes\nExecStart=/bin/id\n', enabled: false },
      ],
    })),
  },
  {
    says: 'a granted account is taken by DynamicUser=, too',
    workspace: { host: { users: ['news'] } },
    name: 'news',
    files: service('Restart=no'),
  },
  ...(
    [
      ['User= with one of users', 'User=daemon'],
      ['a user that no grant names, by number', 'User=1'],
      ['no command begins with +', 'ExecStartPre=+/bin/id'],
      ['no command begins with !', 'ExecStopPost=!/bin/id'],
      ['no command begins with |', 'ExecReload=|/bin/id'],
      ['EnvironmentFile= names a file that the package brings', 'EnvironmentFile=-/etc/shadow'],
      ['EnvironmentFile= has no pattern', 'EnvironmentFile=/etc/*'],
      ['LoadCredential= names a file that the package brings', 'LoadCredential=a:/etc/shadow'],
      ['credentials of the host', 'LoadCredential=a'],
      ['credentials of the host by a pattern', 'ImportCredential=*'],
      ['StateDirectory= is a path of its own', 'StateDirectory=payments'],
      ['StateDirectory= has no link', 'StateDirectory=NAME:payments'],
      ['RuntimeDirectory= is a path of its own', 'RuntimeDirectory=fleet-agent'],
      ['output goes to the journal', 'StandardOutput=file:/etc/cron.d/a'],
      ['output goes to no terminal', 'TTYPath=/dev/tty1'],
      ['bind mounts are not allowed', 'BindPaths=/root'],
      ['another root is not allowed', 'RootDirectory=/'],
      ['PAM is not allowed', 'PAMName=login'],
      ['capabilities are not allowed', 'AmbientCapabilities=CAP_SYS_ADMIN'],
      ['devices are not allowed', 'DeviceAllow=/dev/sda rw'],
      ['delegated control groups are not allowed', 'Delegate=yes'],
      ['namespaces of other units are not allowed', 'JoinsNamespaceOf=payments.service'],
      ['priority over others is not allowed', 'CPUSchedulingPolicy=fifo'],
      ['a score that spares it is not allowed', 'OOMScoreAdjust=-1000'],
    ] as const
  ).map(
    ([says, line]): Team => ({
      says: `without root: ${says}`,
      row: 'N23',
      code: BOUNDS,
      said: 'host: {users: [root]}',
      files: (name) => service(line.replace('NAME', name))(name),
    }),
  ),
  ...(
    [
      ['other units that it names in Wants= are its own or common targets', 'Wants=payments.service'],
      ['Before= names its own units or late targets', 'Before=sysinit.target'],
      ['After= names no target that comes after multi-user.target', 'After=multi-user.target'],
      ['TimeoutAbortSec= has an end', 'TimeoutAbortSec=infinity', 'Service'],
      ['TimeoutStartSec= has an end', 'TimeoutStartSec=0', 'Service'],
      ['KillMode= is control-group or mixed', 'KillMode=none', 'Service'],
      ['CPUWeight= is at most 100', 'CPUWeight=101', 'Service'],
      ['MemoryMin= is not allowed', 'MemoryMin=1G', 'Service'],
      ['Slice= is its own or system.slice', 'Slice=payments.slice', 'Service'],
      ['Slice= is not the root of all', 'Slice=-.slice', 'Service'],
      ['Slice= is not that of people', 'Slice=user.slice', 'Service'],
      ['a reboot', 'FailureAction=reboot'],
      ['a job that isolates', 'OnFailureJobMode=isolate'],
      ['WantedBy= names its own or late targets', 'WantedBy=sysinit.target', 'Install'],
      ['RequiredBy= names its own units', 'RequiredBy=multi-user.target', 'Install'],
      ['Also= names its own units', 'Also=payments.service', 'Install'],
      ['aliases are not allowed', 'Alias=ssh.service', 'Install'],
    ] as const
  ).map(
    ([says, line, section = 'Unit']): Team => ({
      says: `without root: ${says}`,
      row: 'N40',
      code: BOUNDS,
      files: service(line, section),
    }),
  ),
  ...(
    [
      ['starts have a limit', 'StartLimitIntervalSec=0'],
      ['starts have a limit in number', 'StartLimitBurst=0'],
      ['starts are at most one a second', 'StartLimitIntervalSec=1ms\nStartLimitBurst=1000'],
    ] as const
  ).map(
    ([says, lines]): Team => ({
      says: `without root: ${says}`,
      row: 'N98',
      code: BOUNDS,
      files: service(`${lines}\n[Service]\nRestart=always\nRestartSec=0`, 'Unit'),
    }),
  ),
  {
    says: 'a service that is started again once a second, and never given up',
    files: service(
      'StartLimitIntervalSec=10\nStartLimitBurst=10\n[Service]\nRestart=always\nRestartSec=1',
      'Unit',
    ),
  },
  {
    says: 'systemd computes at most 64 lines of OnCalendar= for one package',
    row: 'N98',
    code: BOUNDS,
    files: unit('.timer', `[Timer]\n${'OnCalendar=Mon *-2-30\n'.repeat(65)}`),
  },
  {
    says: 'systemd holds no files that match a pattern in its memory',
    row: 'N98',
    code: BOUNDS,
    files: unit('.path', '[Path]\nPathExistsGlob=/var/lib/NAME/*'),
  },
  {
    says: '.socket units are not allowed',
    row: 'N23',
    code: BOUNDS,
    files: unit('.socket', '[Socket]\nListenStream=22'),
  },
  {
    says: 'nor are comments within a continued line',
    row: 'N23',
    code: BOUNDS,
    files: service('Environment=A=1 \\\n# x\nUser=root'),
  },
  {
    says: 'directories below /etc and /opt belong to root',
    row: 'N23',
    code: BOUNDS,
    workspace: { host: { users: ['lp'] } },
    files: onHost((name) => ({ directories: [{ path: `/opt/${name}`, owner: 'lp' }] })),
  },
  {
    says: 'and nobody else may write to them',
    row: 'N23',
    code: BOUNDS,
    files: onHost((name) => ({ directories: [{ path: `/etc/${name}`, mode: '0777' }] })),
  },
  {
    says: 'with users: [root] none of this holds',
    workspace: { host: { users: ['root'] } },
    files: onHost((name) => ({
      units: [
        {
          name: `${name}.service`,
          content: '[Service]\nExecStart=+/bin/true\nTimeoutStopSec=infinity\n',
          enabled: false,
          active: false,
        },
      ],
      checks: [{ name: 'a', type: 'exec', argv: ['/bin/true'] }],
    })),
  },
];

const slow = (seconds: number, count = 1) =>
  onHost(() => ({
    checks: Array.from({ length: count }, (_, index) => ({
      name: `c${index}`,
      type: 'tcp',
      address: '127.0.0.1:1',
      timeoutSeconds: seconds,
    })),
  }));

/** Site values, order, clusters, limits. */
const OTHERS: readonly Team[] = [
  {
    says: 'each registered application needs siteValues for every value that its siteInputs name',
    row: 'N47',
    code: BOUNDS,
    files: asks,
  },
  { says: 'a site value that siteValues grants', workspace: { siteValues: ['line-*'] }, files: asks },
  {
    says: 'critical targets need a grant',
    row: 'N43',
    code: BOUNDS,
    files: onHost((name) => ({ files: [{ path: `/etc/${name}/a`, content: 'x' }] }), { critical: true }),
  },
  {
    says: 'critical: true grants them',
    workspace: { critical: true },
    files: onHost((name) => ({ files: [{ path: `/etc/${name}/a`, content: 'x' }] }), { critical: true }),
  },
  {
    says: 'a Secret of the set called <name>',
    files: (name) => onCluster(secretOf(name))(name),
  },
  {
    says: 'a Secret of a foreign set',
    row: 'N26',
    code: BOUNDS,
    files: onCluster(secretOf('payments')),
  },
  {
    says: 'a Secret of a foreign set within a list',
    row: 'N26',
    code: BOUNDS,
    files: onCluster({ apiVersion: 'v1', kind: 'List', items: [secretOf('payments')] }),
  },
  {
    says: 'a Secret of a set that secretSets grants',
    workspace: { host: { secretSets: ['pay*'] } },
    files: onCluster(secretOf('payments')),
  },
  {
    says: 'limits.packageSeconds bounds how long one package may keep a host waiting, 1800 s without it',
    row: 'N41',
    code: BOUNDS,
    said: 'packageSeconds',
    files: slow(1801),
  },
  {
    says: 'limits.packageSeconds raises it',
    workspace: { limits: { packageSeconds: 1801 } },
    files: slow(1801),
  },
  {
    says: 'a Type=oneshot service without TimeoutStartSec= has no end',
    row: 'N41',
    code: BOUNDS,
    said: 'without an end',
    files: onHost((name) => ({
      units: [
        {
          name: `${name}.service`,
          content: '[Service]\nDynamicUser=yes\nType=oneshot\nExecStart=/bin/true\n',
          active: true,
        },
      ],
    })),
  },
  {
    says: 'limits.fileBytes bounds one file of its repositories',
    row: 'N17',
    code: 'WORKSPACE_LIMIT',
    said: 'fileBytes',
    workspace: { limits: { fileBytes: 2000 } },
    files: (name) => ({ ...at(() => `/etc/${name}/a`)(name), 'host/large.txt': 'x'.repeat(3000) }),
  },
  {
    says: 'limits.manifestObjects bounds the documents of one deployment target',
    row: 'N17',
    code: 'WORKSPACE_LIMIT',
    said: 'manifestObjects',
    workspace: { limits: { manifestObjects: 2 } },
    files: onCluster(
      ...['a', 'b', 'c'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })),
    ),
  },
  {
    says: 'limits.workspaceSeconds bounds the sum over all packages, and all of them are held',
    row: 'N41',
    code: 'WORKSPACE_LIMIT',
    said: 'workspaceSeconds',
    workspace: { limits: { workspaceSeconds: 100 } },
    files: slow(60, 2),
  },
  {
    says: "an application's own repository cannot bring a Workspace",
    row: 'N27',
    code: 'UNKNOWN_KIND',
    files: (name) => ({
      ...at(() => `/etc/${name}/a`)(name),
      'workload/grant.yaml': JSON.stringify({
        apiVersion: 'fleet-ferry/v1alpha1',
        kind: 'Workspace',
        metadata: { name: `team-${name}` },
        spec: { host: { users: ['root'] } },
      }),
    }),
  },
  {
    says: 'labels registration and workspace cannot be set by the author',
    name: 'pretends',
    files: (name) => ({
      ...onHost(() => ({ files: [{ path: `/etc/${name}/config`, config: true }] }))(name),
      'workload/workload.yaml': workload(name, [
        {
          ...hostTarget,
          labels: { ...hostTarget.labels, registration: 'payments', workspace: 'team-payments' },
        },
      ]),
    }),
  },
  ...(
    [
      ['of another owner', { repo: 'https://git.example/other/extra', branch: 'main' }, 'REPOSITORY_FOREIGN'],
      ['by a path of the machine', { repo: '/etc', branch: 'main' }, 'FIELD_INVALID'],
      ['by file:', { repo: 'file:///etc', branch: 'main' }, 'FIELD_INVALID'],
      [
        'with dots that leave the owner',
        { repo: 'https://git.example/granted/../other/extra' },
        'FIELD_INVALID',
      ],
    ] as const
  ).map(
    ([says, repo, code]): Team => ({
      says: `manifests name no repository ${says}`,
      row: code === 'FIELD_INVALID' ? 'N13' : 'N12',
      code,
      workspace: { repositories: ['https://git.example/granted/'] },
      files: onHost(() => ({}), { manifests: { path: '.', ...repo } }),
    }),
  ),
  {
    says: 'manifests name a repository that the Workspace lists',
    workspace: { repositories: ['https://git.example/granted/'] },
    files: onHost(() => ({}), {
      manifests: { repo: 'https://git.example/granted/extra', branch: 'main', path: '.' },
    }),
  },
  {
    says: 'a Workload that only its author called so is held instead of getting what a Config selects',
    row: 'N46',
    code: BOUNDS,
    assignment: 'till-host',
    files: (name) => ({
      ...at(() => `/etc/${name}/a`)(name),
      'workload/workload.yaml': workload('till', [hostTarget]),
    }),
  },
];

const TEAMS: readonly (Team & { readonly name: string })[] = [...NAMES, ...UNITS, ...OTHERS].map(
  (team, index) => ({ ...team, name: team.name ?? `team${index}x` }),
);

const shared = (content: string) => at(() => '/srv/shared/a', { content });
const lineOf = (type: string) =>
  onHost((name) => ({
    files: [{ path: `/etc/${name}/a`, content: 'A=1\n', format: 'env' }],
    siteInputs: [{ name: 'shared-line', schema: { type }, file: `/etc/${name}/a`, pointer: '/A' }],
  }));
const SHARED = { host: { paths: ['/srv/shared'], units: ['shared-*'] }, siteValues: ['shared-line'] };
/** Teams that have a path, a unit, a site input or a name from the first build on. */
const OWNERS: Readonly<Record<string, Team['files']>> = {
  zpath: shared('1'),
  zline: lineOf('integer'),
  zname: at((name) => `/etc/${name}/a`),
  zempty: at((name) => `/etc/${name}/a`),
  zgone: at((name) => `/etc/${name}/a`),
  zunit: onHost(() => ({ units: [{ name: 'shared-a.service', enabled: false, active: false }] })),
};
/** Teams that ask for the same before the second build. */
const NEWCOMERS: Readonly<Record<string, Team & { readonly owner: string }>> = {
  apath: {
    says: 'a path belongs to the package that had it in the last release',
    row: 'N44',
    code: 'OBJECT_CLASH',
    owner: 'zpath',
    files: shared('2'),
  },
  aunit: {
    says: 'a unit belongs to the package that had it in the last release',
    row: 'N44',
    code: 'OBJECT_CLASH',
    owner: 'zunit',
    files: onHost(() => ({ units: [{ name: 'shared-a.service', enabled: false, active: false }] })),
  },
  aline: {
    says: 'a site input with its schema belongs to the packages with the schema of the last release',
    row: 'N44',
    code: 'OBJECT_CLASH',
    owner: 'zline',
    files: lineOf('string'),
  },
  aname: {
    says: 'a workload belongs to the registration of that name',
    row: 'N45',
    code: 'NAME_CLASH',
    owner: 'zname',
    assignment: 'zname-host',
    files: (name) => ({
      ...at(() => `/etc/${name}/a`)(name),
      'workload/workload.yaml': workload('zname', [hostTarget]),
    }),
  },
};

type Held = { readonly assignment?: string; readonly code: string; readonly message: string };
type Built = {
  readonly channels: readonly {
    readonly clusterType: string;
    readonly outcome: string;
    readonly bundle: string;
    readonly held: readonly Held[];
    readonly removals: readonly unknown[];
  }[];
  readonly heldWorkloads: readonly {
    readonly registration: string;
    readonly problems: readonly { readonly error: Held }[];
  }[];
};

const config = (name: string, selector: object, values: object): string =>
  JSON.stringify({
    apiVersion: 'fleet-ferry/v1alpha1',
    kind: 'Config',
    metadata: { name },
    spec: { selector, values },
  });

const openWorld = async (folder: string) => {
  const teams = await makeTeams(folder);
  await writeFile(
    join(folder, 'fleet-scheduler.yaml'),
    'platform: platform\nkeys: keys\nlayout: releases\nimages: images\ncache: cache\n',
  );
  const build = async (...words: readonly string[]): Promise<Built> => {
    const map = `https://git.example/granted/extra#main=${join(folder, 'extra')}`;
    const { stdout, stderr } = await runScheduler(folder, ['build', '--json', '--map', map, ...words]);
    if (!stdout.startsWith('{')) throw new Error(stderr);
    return JSON.parse(stdout) as Built;
  };
  return { teams, build };
};

const heldIn = (built: Built, registration: string, assignment?: string): readonly Held[] => [
  ...built.channels.flatMap(({ held }) =>
    held.filter((one) =>
      [assignment, `${registration}-host`, `${registration}-cluster`].includes(one.assignment),
    ),
  ),
  ...built.heldWorkloads
    .filter((one) => one.registration === registration)
    .flatMap(({ problems }) => problems.map(({ error }) => error)),
];

const titleOf = ({ says, row, code }: Team): string =>
  code === undefined ? `is built: ${says}` : `${row ?? 'is held'}: ${says} -> ${code}`;

describe('a build with a hostile team for each sentence of docs/workspaces.md', () => {
  let directory: TemporaryDirectory;
  let first: Built;
  let second: Built;
  let printed: string;
  let configs: string;
  beforeAll(async () => {
    directory = await temporaryDirectory('workspaces');
    const { path: folder } = directory;
    const { teams, build } = await openWorld(folder);
    await teams.team('payments', plainTeam('payments', 1));
    const deb = await buildDeb(folder, { name: 'one', version: '1.0' });
    for (const { name, files, workspace } of TEAMS) {
      const own = Object.entries(files(name)).map(([path, text]) => [path, text === DEB ? deb : text]);
      await teams.team(name, Object.fromEntries(own) as Record<string, string | Buffer>, workspace ?? {});
    }
    for (const [name, files] of Object.entries(OWNERS)) await teams.team(name, files(name), SHARED);
    await teams.write({
      'platform/base/till.yaml': config('till', { workload: 'till' }, { password: 'x' }),
      'platform/base/payments.yaml': config('payments', { registration: 'payments' }, { pin: 'of-payments' }),
      'platform/base/pretends.yaml': config('pretends', { registration: 'pretends' }, { hall: 'seven' }),
      'extra/package.yaml': hostPackage('extra', {}),
    });
    first = await build();
    const layout = await openLayout(teams.layout);
    const host = first.channels.find(({ clusterType }) => clusterType === 'host');
    const bundle = await readBundle(layout.blobs, host?.bundle as Digest);
    const packages = await unpackBundle(layout.blobs, bundle);
    configs = [...(packages.get('pretends-host')?.values() ?? [])].join('\n');
    // The owners change, or cannot be read, when the newcomers come.
    await teams.team('zpath', shared('3')('zpath'), SHARED);
    await teams.write({ 'apps/zunit/host/package.yaml': 'broken: [' });
    await teams.write({
      'apps/zempty/workload/workload.yaml': '',
      'apps/zgone/workload/workload.yaml': workload('zgone', []),
    });
    for (const [name, { files }] of Object.entries(NEWCOMERS)) await teams.team(name, files(name), SHARED);
    second = await build('--previous', 'releases');
    const said = await runScheduler(folder, ['build', '--previous', 'releases']);
    printed = said.stdout + said.stderr;
  }, 600_000);
  afterAll(() => directory?.[Symbol.asyncDispose]());

  for (const team of TEAMS) {
    test(titleOf(team), () => {
      const held = heldIn(first, team.name, team.assignment);
      if (team.code === undefined) return expect(held).toEqual([]);
      expect(held[0]?.code).toBe(team.code);
      if (team.said !== undefined) expect(printed).toContain(team.said);
    });
  }

  for (const [name, team] of Object.entries(NEWCOMERS)) {
    test(titleOf(team), () => {
      const held = heldIn(second, name, team.assignment);
      expect(held.map(({ code }) => code)).toEqual([team.code]);
      expect(held[0]?.message).toContain(team.owner);
      // The owner is built, or, where it cannot be read, named for its own fault alone.
      const own = heldIn(second, team.owner).filter(
        ({ message }) => !held.some((one) => one.message === message),
      );
      expect(own.map(({ code }) => code)).toEqual(team.owner === 'zunit' ? ['YAML_SYNTAX'] : []);
    });
  }

  test('an emptied or mistyped file uninstalls no application unseen', () => {
    const kept = ['zempty', 'zgone'].map((name) => heldIn(second, name).map(({ code }) => code));
    expect(kept).toEqual([['REFERENCE_MISSING', 'REFERENCE_MISSING'], ['REMOVALS_HELD']]);
    expect(second.channels.flatMap(({ removals }) => removals)).toEqual([]);
  });

  test('the values of another team do not follow a label that an author wrote', () => {
    expect(configs).toContain('seven');
    expect(configs).not.toContain('of-payments');
  });

  test('all others are released', () => {
    expect(first.channels.map(({ clusterType, outcome }) => [clusterType, outcome])).toEqual([
      ['cluster', 'released'],
      ['host', 'released'],
    ]);
    expect(heldIn(first, 'payments')).toEqual([]);
    const places = first.channels.flatMap(({ held }) => held.map(({ assignment }) => assignment));
    expect(new Set(places).size).toBe(places.length);
  });
});

describe('a platform without any Workspace object', () => {
  test('N47: a site value belongs to the workspaces that read it in the last release, a new one to the first registration by name -> OUT_OF_BOUNDS', async () => {
    await using directory = await temporaryDirectory('workspaces');
    const { teams, build } = await openWorld(directory.path);
    await teams.team('zzz', lineOf('string')('zzz'));
    expect(heldIn(await build(), 'zzz')).toEqual([]);
    await teams.team('aaa', lineOf('string')('aaa'));
    const built = await build('--previous', 'releases');
    expect(heldIn(built, 'zzz')).toEqual([]);
    expect(heldIn(built, 'aaa')).toMatchObject([{ code: 'OUT_OF_BOUNDS' }]);
    // As soon as the platform has one, each needs the grant, and sites keep the last package.
    await teams.team('other', at((name) => `/etc/${name}/a`)('other'), {});
    const granted = await build('--previous', 'releases');
    expect(heldIn(granted, 'zzz').map(({ code }) => code)).toEqual(['OUT_OF_BOUNDS']);
    expect(granted.channels.flatMap(({ removals }) => removals)).toEqual([]);
  }, 300_000);

  test('each list of a Workspace has at most 256 entries', async () => {
    await using directory = await temporaryDirectory('workspaces');
    const { teams } = await openWorld(directory.path);
    const paths = (count: number) => ({
      host: { paths: Array.from({ length: count }, (_, index) => `/srv/p${index}`) },
    });
    const validate = () => runScheduler(directory.path, ['validate', '--platform', 'platform']);
    await teams.team('much', at((name) => `/etc/${name}/a`)('much'), paths(256));
    expect((await validate()).code).toBe(0);
    await teams.team('much', at((name) => `/etc/${name}/a`)('much'), paths(257));
    const refused = await validate();
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain('256');
  }, 300_000);
});
