import { describe, expect, test } from 'vitest';
import { type FleetError, isFleetError } from '#bundles/errors';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import type { DeploymentTarget, HostGrants } from '../../../../../scheduler/model/model.ts';
import { problemsOf } from '../../../../../scheduler/model/problems.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../../model-objects.ts';
import { noAccess } from '../../content/no-access.ts';

/** The tenant names its workload as it likes: only registration and workspace count. */
const LABEL = target('ssh/host', { registration: 'label', workspace: 'printing' });

const head = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: label}\nspec:\n';

const assemble = (spec: string, of: Partial<DeploymentTarget> = {}, template = '') =>
  assembleHost(
    renderedPackage(
      clusterType('press', { target: 'host' }),
      { ...LABEL, ...of },
      { files: renderedFiles(template === '' ? {} : { 'namespace.yaml': head + template }) },
    ),
    {
      shown: 'apps/label/',
      files: new Map([
        ['package.yaml', Buffer.from(head + spec)],
        ['press.raucb', Buffer.from('a RAUC bundle')],
      ]),
    },
    noAccess(),
  );

const granted = (grants: Partial<HostGrants>): Partial<DeploymentTarget> => ({
  grants: { paths: [], units: [], users: [], secretSets: [], ...grants },
});

const refusal = async (
  spec: string,
  of: Partial<DeploymentTarget> = {},
  template = '',
): Promise<FleetError> => {
  const error: unknown = await assemble(spec, of, template).catch((caught: unknown) => caught);
  const [first] = isFleetError(error) ? problemsOf(error) : [];
  if (first) return first;
  throw error instanceof Error ? error : new Error(`taken: ${spec}`);
};

const file = (path: string, more = ''): string => `  files:\n  - {path: ${path}, content: x${more}}\n`;
const unit = (name: string, content: string): string =>
  `  units:\n  - name: ${name}\n    content: |\n${content.replaceAll(/^/gm, '      ')}\n`;
const service = (lines: string): string =>
  unit('label.service', `[Service]\nExecStart=/opt/label/print\n${lines}`);

describe('a path of a registered application', () => {
  test.for([
    '/etc/label/a.conf',
    '/etc/printing/a.conf',
    '/opt/label/print',
    '/srv/label/a',
    '/var/lib/label/a',
    '/var/cache/label/a',
    '/run/label/a',
    '/var/lib/fleet-ferry/apt/ssh-host/a.deb',
  ])('in its own folders is accepted: %s', async (path) => {
    expect((await assemble(file(path))).owns).toEqual([path]);
  });

  test.for([
    '/etc/sudoers.d/label',
    '/etc/sudoers',
    '/etc/pam.d/sshd',
    '/etc/ssh/sshd_config.d/label.conf',
    '/root/.ssh/authorized_keys',
    '/home/anna/.ssh/authorized_keys',
    '/etc/cron.d/label',
    '/etc/ld.so.preload',
    '/etc/ld.so.conf.d/label.conf',
    '/etc/profile.d/label.sh',
    '/etc/apt/sources.list.d/label.list',
    '/etc/udev/rules.d/90-label.rules',
    '/etc/tmpfiles.d/label.conf',
    '/etc/sysctl.d/label.conf',
    '/etc/modules-load.d/label.conf',
    '/boot/grub/grub.cfg',
    '/etc/systemd/system-generators/label',
    '/etc/extensions/label/usr/bin/ls',
    '/etc/ansible/facts.d/label.fact',
    '/etc/needrestart/conf.d/label.conf',
    '/etc/userdb/label.user',
    '/run/tmpfiles.d/label.conf',
    '/etc/systemd/system/label.service',
    '/etc/systemd/system/label.service.d/root.conf',
    '/etc/systemd/system/service.d/root.conf',
    '/usr/local/bin/ls',
    '/etc/label-evil/a.conf',
    '/etc/Label/a.conf',
    '/etc/passwd',
    '/opt/print',
    '/var/lib/fleet-ferry/apt/other-host/a.deb',
  ])('N20: a file at %s -> OUT_OF_BOUNDS', async (path) => {
    const error = await refusal(file(path));
    expect(error.code).toBe('OUT_OF_BOUNDS');
    expect(error).toMatchObject({ subject: 'ssh-host', at: { file: 'apps/label/package.yaml', line: 6 } });
    expect(error.hint).toContain(
      `let the platform grant it in the Workspace printing: host: {paths: [${path}]}`,
    );
  });

  test.for(['sudoers', 'ssh', 'cron.d', 'systemd', 'passwd', 'apt', 'extensions', 'ansible', 'userdb'])(
    'N20: a registration named %s has no folder of the system -> OUT_OF_BOUNDS',
    async (registration) => {
      const { code } = await refusal(file(`/etc/${registration}`), { registration });
      expect(code).toBe('OUT_OF_BOUNDS');
    },
  );

  test('that is granted is accepted, and a reserved one only when it is granted explicitly', async () => {
    await assemble(file('/srv/labels/a'), granted({ paths: ['/srv/labels'] }));
    await assemble(file('/etc/cron.d/label'), granted({ paths: ['/etc/cron.d/label'] }));
    await assemble(file('/etc/cron.d/label'), granted({ paths: ['/etc/cron.d'] }));
    for (const [path, paths] of [
      ['/srv/labels-old/a', ['/srv/labels']],
      ['/etc/cron.d/label', ['/etc']],
      ['/etc/sudoers.d/label', ['/etc/cron.d']],
    ] as const)
      expect((await refusal(file(path), granted({ paths }))).code).toBe('OUT_OF_BOUNDS');
  });

  test.for([
    '/etc/fleet-agent/agent.yaml',
    '/var/lib/fleet-agent/state.db',
    '/run/fleet-agent/hub.sock',
    '/etc/systemd/system/fleet-agent.service',
    '/etc/systemd/system/fleet-agent.service.d/root.conf',
    '/usr/lib/systemd/system/fleet-agent-secrets.service',
    '/etc/systemd/system/fleet-.service.d/x.conf',
  ])("N21: %s of the agent, in a package of the platform's own too -> OUT_OF_BOUNDS", async (path) => {
    const all = granted({ paths: ['/etc/fleet-agent', '/var/lib/fleet-agent', path], users: ['root'] });
    const tenant = await refusal(file(path), all);
    const { registration: _, ...platforms } = LABEL;
    const platform: unknown = await assembleHost(
      renderedPackage(clusterType('press', { target: 'host' }), { ...platforms, workspace: '' }),
      { shown: 'own/', files: new Map([['package.yaml', Buffer.from(head + file(path))]]) },
      noAccess(),
    ).catch((caught: unknown) => caught);
    expect([tenant.code, (platform as FleetError).code]).toEqual(['OUT_OF_BOUNDS', 'OUT_OF_BOUNDS']);
    expect(tenant.hint).toBe('Change it; no Workspace can grant it');
  });

  test('that a template of the platform adds is accepted, and nothing below it', async () => {
    const template = `  directories: [{path: /var/lib/${LABEL.name}, owner: lp}]\n  units:\n  - {name: ${LABEL.name}.service, content: "[Service]\\nExecStart=/bin/true"}\n  checks:\n  - {name: good, type: exec, argv: [/bin/true]}\n`;
    const made = await assemble(file('/etc/label/a'), {}, template);
    expect(made.bounds?.platform).toEqual([
      '/etc/systemd/system/ssh-host.service',
      '/var/lib/ssh-host',
      'check:["/bin/true"]',
      'ssh-host.service',
    ]);
    expect((await refusal(file(`/var/lib/${LABEL.name}/a`), {}, template)).code).toBe('OUT_OF_BOUNDS');
  });

  test('is not restricted in a package of the platform itself', async () => {
    const { registration: _, ...platforms } = LABEL;
    const made = await assembleHost(
      renderedPackage(clusterType('press', { target: 'host' }), { ...platforms, workspace: '' }),
      { shown: 'own/', files: new Map([['package.yaml', Buffer.from(head + file('/etc/sudoers.d/ops'))]]) },
      noAccess(),
    );
    expect(made.owns).toEqual(['/etc/sudoers.d/ops']);
    expect(made.bounds).toBeUndefined();
  });
});

describe('a unit of a registered application', () => {
  const name = (unitName: string, more = ''): string => `  units:\n  - {name: ${unitName}${more}}\n`;

  test.for(['label.service', 'label.timer', 'label@1.service', 'printing.path'])(
    'of its own is accepted: %s',
    async (own) => {
      expect((await assemble(name(own))).owns).toEqual([own]);
    },
  );

  test.for([
    'ssh.service',
    'labels.service',
    'label-press.service',
    'cron.service',
    'ssh-host.service',
    'multi-user.target',
  ])('N22: stops %s -> OUT_OF_BOUNDS', async (foreign) => {
    expect((await refusal(name(foreign, ', enabled: false, active: false'))).code).toBe('OUT_OF_BOUNDS');
  });

  test('N22: stops the agent, by whatever grant -> OUT_OF_BOUNDS', async () => {
    const all = granted({ units: ['*'], users: ['root'] });
    expect((await refusal(name('fleet-agent.service', ', active: false'), all)).code).toBe('OUT_OF_BOUNDS');
    await assemble(name('cups.service'), all);
  });
});

test('N22: writes the file of a unit that a template names -> OUT_OF_BOUNDS', async () => {
  const spec = file('/etc/systemd/system/cups.service');
  const template = '  units:\n  - {name: cups.service}\n';
  expect((await refusal(spec, {}, template)).code).toBe('OUT_OF_BOUNDS');
});

describe('a unit file of a registered application', () => {
  test.for([
    'DynamicUser=yes\nStateDirectory=label\nStandardOutput=journal',
    'User=labels\nGroup=labels\nProtectSystem=strict\nRestart=on-failure\n[Install]\nWantedBy=multi-user.target',
    'DynamicUser=yes\nExecStartPre=-/bin/sh -c "echo a; echo b"\n[Unit]\nAfter=ssh.service\nWants=network-online.target',
    'DynamicUser=yes\nEnvironment=A=1 \\\n  B=2',
    'DynamicUser=yes\nTimeoutStopSec=1min 30s\nKillMode=mixed\nFinalKillSignal=SIGKILL\nCPUWeight=20\nIOWeight=100',
    'DynamicUser=yes\n[Unit]\nBefore=multi-user.target shutdown.target label@1.service\nAfter=network-online.target',
    'DynamicUser=yes\n[Install]\nWantedBy=graphical.target label.target\nRequiredBy=label.target',
    'DynamicUser=yes\nSlice=label.slice',
  ])('that runs as a granted user is accepted: %s', async (lines) => {
    expect((await assemble(service(lines), granted({ users: ['labels'] }))).bounds?.users).toEqual([
      'labels',
    ]);
  });

  test('may read environment files and credentials of its own package', async () => {
    const more =
      '  secrets:\n  - {path: /run/fleet-agent/secrets/label/db, set: label, key: a}\n  files:\n  - {path: /etc/label/a.env, content: A=1}\n';
    await assemble(
      service(
        'DynamicUser=yes\nEnvironmentFile=-/etc/label/a.env\nLoadCredential=db:/run/fleet-agent/secrets/label/db',
      ) + more,
    );
  });

  test.for([
    ['no user', ''],
    ['root', 'User=root'],
    ['a number', 'User=0'],
    ['another user', 'User=postgres'],
    ['a user that is taken back', 'User=labels\nUser='],
    ['a specifier', 'User=%i'],
    ['a user in another section', '[Unit]\nUser=labels'],
    ['a user behind a carriage return', '# \rUser=labels'],
    ['a user in a comment of a continued line', 'Environment=A=1 \\\n# x\nUser=labels'],
    [
      'a user behind an even number of backslashes',
      'Environment=A=1 \\\\\nExecStartPre=+/bin/sh\nDynamicUser=yes',
    ],
    ['a user behind a backslash and a space', 'Environment=A=1 \\ \nExecStartPre=+/bin/sh\nDynamicUser=yes'],
    ['a command behind another space', 'Environment=A=1 \\\u00A0\nExecStartPre=+/bin/sh\nDynamicUser=yes'],
    ['a user behind a continued comment', '# x \\\nUser=labels'],
    ['a prefix in quotes', 'DynamicUser=yes\nExecStartPre="+/bin/sh" -c id'],
    ['an escaped prefix', 'DynamicUser=yes\nExecStartPre=-\\x2b/bin/sh -c id'],
    ['a specifier in a path', 'DynamicUser=yes\nLoadCredential=x:/etc/label/%I'],
    ['a full privileges prefix', 'DynamicUser=yes\nExecStartPre=+/bin/sh -c id'],
    ['a prefix behind another', 'DynamicUser=yes\nExecStartPre=-@!/bin/sh sh -c id'],
    ['a second command', 'DynamicUser=yes\nExecStartPost=/bin/true ; +/bin/sh -c id'],
    ['capabilities', 'DynamicUser=yes\nAmbientCapabilities=CAP_SYS_ADMIN'],
    ['a group', 'DynamicUser=yes\nSupplementaryGroups=docker'],
    ['a file of the system for its environment', 'DynamicUser=yes\nEnvironmentFile=/etc/shadow'],
    ['a file of the system as a credential', 'DynamicUser=yes\nLoadCredential=x:/etc/shadow'],
    ['a log at a path', 'DynamicUser=yes\nStandardOutput=append:/etc/cron.d/label'],
    ['a foreign state directory', 'DynamicUser=yes\nStateDirectory=dpkg'],
    ['a state directory that leaves', 'DynamicUser=yes\nStateDirectory=label/../dpkg'],
    ['a bind mount', 'DynamicUser=yes\nBindReadOnlyPaths=/root:/mnt'],
    ['PAM', 'DynamicUser=yes\nPAMName=su'],
    ['a PID file', 'DynamicUser=yes\nPIDFile=/etc/label'],
    ['an alias', 'DynamicUser=yes\n[Install]\nAlias=ssh.service'],
    ['a foreign unit to start', 'DynamicUser=yes\n[Unit]\nWants=debug-shell.service'],
    ['a reboot', 'DynamicUser=yes\n[Unit]\nFailureAction=reboot-force'],
  ] as const)('N23: with %s -> OUT_OF_BOUNDS', async ([, lines]) => {
    // A file whose name systemd would take for another's.
    const error = await refusal(service(lines) + file('"/etc/label/%I"'), granted({ users: ['labels'] }));
    expect(error.code).toBe('OUT_OF_BOUNDS');
    expect(error.hint).toContain('Workspace printing: host: {users: [root]}');
  });

  test.for([
    'FailureAction=reboot',
    'SuccessAction=reboot-immediate',
    'FailureAction=soft-reboot',
    'StartLimitAction=reboot-force',
    'JobTimeoutAction=reboot',
    'RebootArgument=1',
    'Wants=reboot.target',
    'Requires=kexec.target',
    'OnFailure=reboot.target',
    'OnSuccess=systemd-reboot.service',
    'Upholds=soft-reboot.target',
    'PropagatesStopTo=systemd-logind.service',
  ])('N90: reboots of hosts by a unit with %s -> OUT_OF_BOUNDS', async (line) => {
    expect((await refusal(service(`DynamicUser=yes\n[Unit]\n${line}`))).code).toBe('OUT_OF_BOUNDS');
  });

  test.for([
    ['/run/reboot-required', 'reboot-required'],
    ['/run/reboot-required.pkgs', 'reboot-required.pkgs'],
    ['/run/reboot-required', 'label'],
    ['/var/run/reboot-required', 'label'],
  ] as const)('N90: reboots of hosts by a file, %s of %s -> OUT_OF_BOUNDS', async ([path, registration]) => {
    expect((await refusal(file(path), { registration })).code).toBe('OUT_OF_BOUNDS');
    expect((await refusal(file(path), granted({ paths: ['/run'] }))).code).toBe('OUT_OF_BOUNDS');
  });

  test('N90: reboots of hosts by a system of RAUC -> OUT_OF_BOUNDS', async () => {
    const spec = '  rauc: {source: press.raucb, version: "2"}\n';
    const found = await refusal(spec, granted({ users: ['root'], paths: ['/'] }));
    expect(found).toMatchObject({ code: 'OUT_OF_BOUNDS', hint: 'Change it; no Workspace can grant it' });
  });

  test.for([
    ['a stop without an end', 'TimeoutStopSec=infinity'],
    ['the old word for no end', 'TimeoutStopSec=0'],
    ['no end in another unit', 'TimeoutSec=0min'],
    ['a start without an end', 'Type=notify\nTimeoutStartSec=infinity'],
    ['an abort without an end', 'TimeoutAbortSec=infinity'],
    ['an end that systemd ignores', 'TimeoutStopSec=soon'],
    ['processes that outlive it', 'KillMode=none'],
    ['processes but the first that outlive it', 'KillMode=process'],
    ['no last signal', 'SendSIGKILL=no'],
    ['a last signal that can be ignored', 'FinalKillSignal=SIGTERM'],
    ['weight taken from others', 'CPUWeight=10000'],
    ['memory taken from others', 'MemoryMin=100%'],
    ["the slice of another team's", 'Slice=payments.slice'],
    ['a share as large as that of all services', 'Slice=-.slice'],
    ['an order before the system', '[Unit]\nBefore=sysinit.target'],
    ['an order before the agent', '[Unit]\nBefore=fleet-agent.service'],
    ["an order before another team's unit", '[Unit]\nBefore=label.path payments.service'],
    ['an order before the network', '[Unit]\nBefore=network-online.target'],
    ['an order that closes a circle', '[Unit]\nAfter=graphical.target'],
    ['a boot that pulls it in early', '[Install]\nWantedBy=sysinit.target'],
    ['a network that waits for it', '[Install]\nWantedBy=network-online.target'],
    ['sockets that wait for it', '[Install]\nWantedBy=sockets.target'],
    ['paths that wait for a service', '[Install]\nWantedBy=paths.target'],
    ['a boot that fails with it', '[Install]\nRequiredBy=multi-user.target'],
    ['a default that systemd leaves out', '[Unit]\nDefaultDependencies=no'],
    ['units that it stops', '[Unit]\nConflicts=ssh.service'],
    ['a job without an end', '[Unit]\nJobTimeoutSec=infinity'],
  ] as const)('N40: with %s -> OUT_OF_BOUNDS', async ([, lines]) => {
    const { code, hint } = await refusal(service(`DynamicUser=yes\n${lines}`));
    expect(code).toBe('OUT_OF_BOUNDS');
    expect(hint).toContain('Workspace printing: host: {users: [root]}');
  });

  test('of type path or timer is started by its own target', async () => {
    await assemble(unit('label.path', '[Path]\nPathExists=/x\n[Install]\nWantedBy=paths.target'));
    await assemble(unit('label.timer', '[Timer]\nOnBootSec=1\n[Install]\nWantedBy=timers.target'));
  });

  test.for([
    ['a socket', 'label.socket', '[Socket]\nListenStream=22'],
    ['a path unit that makes folders', 'label.path', '[Path]\nPathExists=/x\nMakeDirectory=yes'],
    ['a timer of a foreign unit', 'label.timer', '[Timer]\nOnBootSec=1\nUnit=reboot.target'],
  ] as const)('N23: of %s -> OUT_OF_BOUNDS', async ([, name, content]) => {
    expect((await refusal(unit(name, content))).code).toBe('OUT_OF_BOUNDS');
  });

  test.for([
    '/run/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}',
    '/*/*/*/*/*/x',
    '/run/*/label',
    '/run/[a-z]/label',
    '/run/label/a*b*c*d*e*f*g',
    '/run/label/job-*.json',
  ])('N98: that makes systemd itself search for %s -> OUT_OF_BOUNDS', async (pattern) => {
    const { code } = await refusal(unit('label.path', `[Path]\nPathExistsGlob=${pattern}`));
    expect(code).toBe('OUT_OF_BOUNDS');
  });

  test.for([
    'StartLimitIntervalSec=0',
    'StartLimitBurst=0',
    'StartLimitBurst=1000000',
    'StartLimitIntervalSec=1us',
    'StartLimitIntervalSec=1min\nStartLimitBurst=61',
  ])('N98: that systemd starts without a limit, %s -> OUT_OF_BOUNDS', async (lines) => {
    const { code } = await refusal(
      service(`DynamicUser=yes\nRestart=always\nRestartSec=0\n[Unit]\n${lines}`),
    );
    expect(code).toBe('OUT_OF_BOUNDS');
    for (const slow of ['StartLimitIntervalSec=1min\nStartLimitBurst=60', 'StartLimitIntervalSec=infinity'])
      await assemble(service(`DynamicUser=yes\nRestart=always\n[Unit]\n${slow}`));
  });

  test.for([
    ['many lines', `[Timer]\n${'OnCalendar=Mon *-2-30\n'.repeat(65)}`],
    ['a long line', `[Timer]\nOnCalendar=*:${'1,'.repeat(60)}1`],
  ] as const)('N98: with calendars that systemd computes for long, %s -> OUT_OF_BOUNDS', async ([, text]) => {
    expect((await refusal(unit('label.timer', text))).code).toBe('OUT_OF_BOUNDS');
    await assemble(unit('label.timer', `[Timer]\n${'OnCalendar=daily\n'.repeat(64)}`));
  });

  test.for([
    ['root', 'root.service'],
    ['root', 'root@label.service'],
    ['backup', 'backup.service'],
    ['disk', 'disk@1.service'],
    ['postgres', 'postgres.service'],
  ] as const)(
    'N29: as the account %s of the host, by the name %s -> OUT_OF_BOUNDS',
    async ([account, name]) => {
      const spec = unit(name, '[Service]\nDynamicUser=yes\nExecStart=/opt/label/print');
      const { code, hint } = await refusal(spec, granted({ units: ['*'] }));
      expect(code).toBe('OUT_OF_BOUNDS');
      expect(hint).toContain(`Workspace printing: host: {users: [${account}]}`);
      await assemble(spec, granted({ units: ['*'], users: [account] }));
      // Another account of its own is as good.
      const named = unit(name, '[Service]\nUser=labels\nExecStart=/opt/label/print');
      await assemble(named, granted({ units: ['*'], users: ['labels'] }));
    },
  );

  test.for([
    ['cron', 'cron.service'],
    ['ssh', 'ssh@1.service'],
    ['systemd-logind', 'systemd-logind.service'],
    ['getty', 'getty@tty1.service'],
    ['user', 'user.slice'],
    ['multi-user', 'multi-user.target'],
  ] as const)('N99: of a registration named %s, %s -> OUT_OF_BOUNDS', async ([registration, name]) => {
    const stops = `  units:\n  - {name: ${name}, enabled: false, active: false}\n`;
    const { code, hint } = await refusal(stops, { registration });
    expect(code).toBe('OUT_OF_BOUNDS');
    expect(hint).toContain(`host: {units: [${name}]}`);
    await assemble(stops, { registration, ...granted({ units: [name] }) });
  });

  test('N23: with a place for site values -> OUT_OF_BOUNDS', async () => {
    const spec = `  files:\n  - {path: /etc/systemd/system/label.service, content: "[Service]\\nDynamicUser=yes\\nExecStart=/a", format: env}\n  units:\n  - {name: label.service}\n`;
    expect((await refusal(spec)).code).toBe('OUT_OF_BOUNDS');
  });

  test('is not restricted when root is granted', async () => {
    await assemble(service('AmbientCapabilities=CAP_SYS_ADMIN'), granted({ users: ['root'] }));
  });
});

test('N24: a check that runs a program -> OUT_OF_BOUNDS', async () => {
  const check = '  checks:\n  - {name: good, type: exec, argv: [/bin/sh, -c, id]}\n';
  const error = await refusal(check);
  expect(error.code).toBe('OUT_OF_BOUNDS');
  expect(error.at?.line).toBe(6);
  await assemble(check, granted({ users: ['root'] }));
  // A template's check lets nobody else run another program under its name.
  const template = '  checks:\n  - {name: good, type: exec, argv: [/bin/true]}\n';
  expect((await refusal(check, {}, template)).code).toBe('OUT_OF_BOUNDS');
});

describe('a file owner in a registered application', () => {
  test.for(['owner: www-data', 'group: shadow'])('N25: a file with %s -> OUT_OF_BOUNDS', async (owned) => {
    expect((await refusal(file('/etc/label/a', `, ${owned}`))).code).toBe('OUT_OF_BOUNDS');
  });

  test('that is granted is accepted, except for folders that systemd reads', async () => {
    const labels = granted({ users: ['labels'] });
    await assemble(file('/etc/label/a', ', owner: labels'), labels);
    await assemble('  directories:\n  - {path: /var/lib/label, owner: labels}\n', labels);
    const open = await refusal('  directories:\n  - {path: /etc/label, owner: labels}\n', labels);
    expect(open.message).toContain('others than root could write to /etc/label');
  });
});

const secretAt = (path: string): string => `  secrets:\n  - {path: ${path}, set: label, key: password}\n`;

test.for([
  '/run/fleet-agent/secrets/payments/password',
  '/run/fleet-agent/secrets/password',
  '/run/fleet-agent/secrets/label-old/password',
])("N42: a secret's path that is not its own, %s -> OUT_OF_BOUNDS", async (path) => {
  const error = await refusal(secretAt(path));
  expect(error.code).toBe('OUT_OF_BOUNDS');
  expect(error.hint).toContain(`Workspace printing: host: {paths: [${path}]}`);
  await assemble(secretAt(path), granted({ paths: [path] }));
});

test.for(['label/password', 'label', 'printing/password'])('a secret at %s is its own', async (path) => {
  await assemble(secretAt(`/run/fleet-agent/secrets/${path}`));
});

test('N26: a foreign secret set on a host -> OUT_OF_BOUNDS', async () => {
  const secret = (set: string): string =>
    `  secrets:\n  - {path: /run/fleet-agent/secrets/label/db, set: ${set}, key: password}\n`;
  for (const own of ['label', 'printing']) expect((await assemble(secret(own))).needsSecrets).toBeUndefined();
  await assemble(secret('line-db'), granted({ secretSets: ['line-*'] }));
  for (const set of ['payroll', 'label-2', 'ssh'])
    expect((await refusal(secret(set))).code).toBe('OUT_OF_BOUNDS');
});

describe('the run time of a package, limited by its Workspace', () => {
  const limited = (packageSeconds: number): Partial<DeploymentTarget> => ({ packageSeconds });
  const checks = (...each: readonly string[]): string =>
    `  checks:\n${each.map((one) => `  - {${one}}\n`).join('')}`;
  const tcp = (name: string, seconds: number): string =>
    `name: ${name}, type: tcp, address: "127.0.0.1:1", timeoutSeconds: ${seconds}`;
  const stays = (seconds: number): string =>
    checks(`name: up, type: unit, unit: label.service, stableSeconds: ${seconds}`);

  test.for([
    ['one check of an hour', checks(tcp('slow', 3600)), 'of which the check slow for 3600 s'],
    [
      'many checks',
      checks(tcp('a', 20), tcp('b', 31), tcp('c', 10)),
      'for 61 s, of which the check b for 31 s',
    ],
    ['a unit that has to stay up', stays(61), 'of which the check up for 61 s'],
    [
      'a stop',
      service('DynamicUser=yes\nTimeoutStopSec=1min 1s'),
      'of which the unit label.service for 61 s',
    ],
    [
      'a stop in many commands',
      service('DynamicUser=yes\nTimeoutStopSec=20\nExecStop=/a\nExecStop=/b\nExecStopPost=/c'),
      'of which the unit label.service for 80 s',
    ],
    [
      'a start in many commands',
      service('DynamicUser=yes\nTimeoutSec=20\nExecStartPre=/a\nExecStartPost=/b\nExecCondition=/c'),
      'of which the unit label.service for 80 s',
    ],
    [
      'a start that is never reported',
      service('DynamicUser=yes\nType=notify\nTimeoutStopSec=1'),
      'of which the unit label.service for 91 s',
    ],
    [
      'a oneshot, for which systemd has no default',
      service('DynamicUser=yes\nType=oneshot\nTimeoutStopSec=1'),
      'the host may have to wait for the unit label.service without an end',
    ],
  ] as const)('N41: more than its limit, by %s -> OUT_OF_BOUNDS', async ([, spec, said]) => {
    const error = await refusal(spec, limited(60));
    expect(error).toMatchObject({ code: 'OUT_OF_BOUNDS', at: { file: 'apps/label/package.yaml' } });
    expect(error.message).toContain(said);
  });

  test('is allowed up to the limit of the Workspace, and the error names that limit', async () => {
    const error = await refusal(checks(tcp('slow', 3600)), limited(60));
    expect(error.hint).toContain('raise the limit in the Workspace printing: limits: {packageSeconds: 3600}');
    const made = await assemble(checks(tcp('slow', 3600)), limited(3600));
    expect(made.bounds?.seconds).toBe(3600);
  });

  test('does not include the start of a service that only a timer starts', async () => {
    const content = '[Service]\nDynamicUser=yes\nType=oneshot\nExecStart=/a\nTimeoutStopSec=1';
    const lines = unit('label.service', content).replace(
      'label.service\n',
      'label.service\n    enabled: false\n    active: false\n',
    );
    await assemble(lines, limited(60));
  });

  test('does not include the units of a workspace with root', async () => {
    await assemble(service('TimeoutStopSec=infinity'), { ...granted({ users: ['root'] }), ...limited(60) });
  });
});

describe('a site value in a registered application', () => {
  const input =
    '  files:\n  - {path: /etc/label/a.env, content: A=1, format: env}\n' +
    '  siteInputs:\n  - {name: lineNumber, schema: {type: integer}, file: /etc/label/a.env, pointer: /A}\n';

  test('N47: that its workspace is not granted -> OUT_OF_BOUNDS', async () => {
    const error = await refusal(input, { siteValues: ['line', 'other-*'] });
    expect(error).toMatchObject({ code: 'OUT_OF_BOUNDS', at: { file: 'apps/label/package.yaml', line: 8 } });
    expect(error.message).toContain('its workspace may not read the site value lineNumber');
    expect(error.hint).toBe(
      'Let the platform grant it in the Workspace printing: spec: {siteValues: [lineNumber]}',
    );
  });

  test('that is granted, or read by a template of the platform, is accepted', async () => {
    for (const siteValues of [['lineNumber'], ['line*'], undefined]) {
      const made = await assemble(input, siteValues && { siteValues });
      expect(made.bounds?.siteValues).toEqual(['lineNumber']);
    }
    const template = input.replaceAll('/etc/label/a.env', '/etc/platform/a.env');
    const made = await assemble(file('/etc/label/b'), { siteValues: [] }, template);
    expect([made.reads, made.bounds?.siteValues]).toEqual([[], ['lineNumber']]);
  });
});
