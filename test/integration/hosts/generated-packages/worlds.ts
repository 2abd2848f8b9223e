import * as fc from 'fast-check';

/** A file of a generated package, by one of its names. */
type GeneratedFile = {
  readonly path: string;
  readonly content: string;
  readonly mode: string;
  readonly owner: string;
};

/** A package as its author writes it, from a few choices. */
export type GeneratedRelease = {
  readonly files: readonly GeneratedFile[];
  readonly directory: { readonly path: string; readonly mode: string; readonly owner: string } | null;
  readonly service: {
    /** Where its file is; null: `units` brings it. */
    readonly folder: string | null;
    readonly value: string;
    readonly enabled: boolean;
    readonly active: boolean;
    readonly dropIn: boolean;
  } | null;
  readonly socket: number | null;
  readonly timer: string | null;
  readonly hostUnit: { readonly enabled: boolean; readonly active: boolean; readonly dropIn: boolean } | null;
  readonly sysctl: number | null;
  readonly tmpfiles: string | null;
  readonly deb: string | null;
  readonly playbook: string | null;
  readonly quadlet: {
    readonly folder: string;
    /** The service has a name of its own, not that of the file. */
    readonly renamed: boolean;
    readonly value: string;
    readonly dropIn: 'of the quadlet' | 'of the service' | null;
    readonly active: boolean;
    readonly volume: boolean;
  } | null;
};

/** What an administrator has on the host before, and two releases one after the other. */
export type World = {
  readonly before: {
    /** Of paths that releases bring, too. */
    readonly files: readonly string[];
    /** /srv/prop leads to /data/prop. */
    readonly link: boolean;
    readonly hostUnit: { readonly enabled: boolean; readonly active: boolean };
  };
  readonly releases: readonly [GeneratedRelease, GeneratedRelease];
};

/** The names of each file: those of one row are one file on a host with merged /usr and the administrator's link. */
const NAMES: readonly (readonly string[])[] = [
  ['/srv/prop/a', '/data/prop/a'],
  ['/lib/prop/b', '/usr/lib/prop/b'],
  ['/etc/prop/c.conf'],
  ['/opt/prop/deep/er/d'],
  ['/run/prop/e', '/var/run/prop/e'],
];

const mode = fc.constantFrom('0644', '0600', '0640');
const owner = fc.constantFrom('root', 'daemon');
const maybe = <T>(arbitrary: fc.Arbitrary<T>, present: number, absent: number): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: absent, arbitrary: fc.constant(null) }, { weight: present, arbitrary });

const file = (names: readonly string[]) =>
  fc.record({ path: fc.constantFrom(...names), content: fc.constantFrom('one', 'two'), mode, owner });

const directory = fc.record({
  path: fc.constantFrom('/var/lib/prop', '/lib/prop.d', '/usr/lib/prop.d'),
  mode: fc.constantFrom('0755', '0700'),
  owner,
});

const service = fc.record({
  folder: fc.constantFrom(null, '/lib/systemd/system', '/usr/lib/systemd/system'),
  value: fc.constantFrom('1', '2'),
  enabled: fc.boolean(),
  active: fc.boolean(),
  dropIn: fc.boolean(),
});

const quadlet = fc.record({
  folder: fc.constantFrom(
    '/etc/containers/systemd',
    '/etc/containers/systemd/prop',
    '/usr/share/containers/systemd',
  ),
  renamed: fc.boolean(),
  value: fc.constantFrom('1', '2'),
  dropIn: fc.constantFrom('of the quadlet' as const, 'of the service' as const, null),
  active: fc.boolean(),
  volume: fc.boolean(),
});

/** What the host has beside Debian: Ansible, or a Podman that knows quadlets. */
export type WorldHost = 'with Ansible' | 'with Podman';

const releaseFor = (host: WorldHost): fc.Arbitrary<GeneratedRelease> =>
  fc.record({
    files: fc
      .tuple(...NAMES.map((names) => maybe(file(names), 1, 1)))
      .map((found) => found.filter((one) => one !== null)),
    directory: maybe(directory, 1, 1),
    service: maybe(service, 3, 1),
    socket: maybe(fc.constantFrom(47_001, 47_002), 1, 2),
    timer: maybe(fc.constantFrom('hourly', 'daily'), 1, 2),
    hostUnit: maybe(fc.record({ enabled: fc.boolean(), active: fc.boolean(), dropIn: fc.boolean() }), 1, 1),
    sysctl: maybe(fc.constantFrom(64, 81), 1, 2),
    tmpfiles: maybe(fc.constantFrom('0755', '0700'), 1, 2),
    deb: maybe(fc.constantFrom('1.0', '2.0'), 1, 2),
    playbook: host === 'with Ansible' ? maybe(fc.constantFrom('one', 'two'), 1, 9) : fc.constant(null),
    quadlet: host === 'with Podman' ? maybe(quadlet, 5, 1) : fc.constant(null),
  });

export const worldFor = (host: WorldHost): fc.Arbitrary<World> =>
  fc.record({
    before: fc.record({
      files: fc.subarray(NAMES.map((names) => names.at(-1) ?? '')),
      link: fc.boolean(),
      hostUnit: fc.record({ enabled: fc.boolean(), active: fc.boolean() }),
    }),
    releases: fc.tuple(releaseFor(host), releaseFor(host)),
  });

/** The text and the files of an application whose package is the release. @param debs by version */
export const authored = (
  { service, ...release }: GeneratedRelease,
  debs: ReadonlyMap<string, Buffer>,
): { readonly spec: string; readonly files: Readonly<Record<string, string | Buffer>> } => {
  const files: (GeneratedFile | Pick<GeneratedFile, 'path' | 'content'>)[] = [...release.files];
  const units: object[] = [];
  if (service) {
    const { folder, value, enabled, active, dropIn } = service;
    const content = `[Service]\nExecStart=/bin/sleep ${value}d\n[Install]\nWantedBy=multi-user.target\n`;
    units.push({ name: 'prop.service', enabled, active, ...(folder === null && { content }) });
    if (folder !== null) files.push({ path: `${folder}/prop.service`, content });
    if (dropIn)
      files.push({
        path: `${folder ?? '/etc/systemd/system'}/prop.service.d/10-nice.conf`,
        content: `[Service]\nNice=${value}\n`,
      });
  }
  if (release.socket !== null) {
    files.push({
      path: '/etc/systemd/system/prop-echo@.service',
      content: '[Service]\nExecStart=/bin/cat\nStandardInput=socket\n',
    });
    const listen = `[Socket]\nListenStream=127.0.0.1:${release.socket}\nAccept=yes\n[Install]\nWantedBy=sockets.target\n`;
    units.push({ name: 'prop-echo.socket', content: listen });
  }
  if (release.timer !== null) {
    units.push({
      name: 'prop-tick.service',
      enabled: false,
      active: false,
      content: '[Service]\nType=oneshot\nExecStart=/bin/true\n',
    });
    units.push({
      name: 'prop-tick.timer',
      content: `[Timer]\nOnCalendar=${release.timer}\n[Install]\nWantedBy=timers.target\n`,
    });
  }
  if (release.hostUnit) {
    const { dropIn, ...wanted } = release.hostUnit;
    units.push({ name: 'prop-host.service', ...wanted });
    if (dropIn)
      files.push({
        path: '/etc/systemd/system/prop-host.service.d/10-nice.conf',
        content: '[Service]\nNice=5\n',
      });
  }
  if (release.quadlet) {
    const { folder, renamed, value, dropIn, active, volume } = release.quadlet;
    const name = renamed ? 'prop-front' : 'prop-web';
    const lines = [
      '[Container]',
      'Image=localhost/web:1',
      'Network=none',
      'PodmanArgs=--stop-signal=KILL',
      `Exec=/bin/sleep ${value}000`,
      ...(renamed ? [`ServiceName=${name}`] : []),
      ...(volume ? ['Volume=prop-data.volume:/data'] : []),
      '[Install]',
      'WantedBy=multi-user.target',
    ];
    files.push({ path: `${folder}/prop-web.container`, content: `${lines.join('\n')}\n` });
    if (volume) files.push({ path: `${folder}/prop-data.volume`, content: '[Volume]\n' });
    if (dropIn === 'of the quadlet')
      files.push({
        path: `${folder}/prop-web.container.d/10-more.conf`,
        content: `[Container]\nEnvironment=BY=${value}\n`,
      });
    if (dropIn === 'of the service')
      files.push({
        path: `/etc/systemd/system/${name}.service.d/10-nice.conf`,
        content: `[Service]\nNice=${value}\n`,
      });
    units.push({ name: `${name}.service`, active });
  }
  if (release.sysctl !== null)
    files.push({
      path: '/etc/sysctl.d/50-prop.conf',
      content: `net.ipv4.ip_default_ttl = ${release.sysctl}\n`,
    });
  if (release.tmpfiles !== null)
    files.push({
      path: '/etc/tmpfiles.d/prop.conf',
      content: `d /run/prop-tmp ${release.tmpfiles} root root -\n`,
    });
  const spec = {
    files,
    ...(release.directory && { directories: [release.directory] }),
    ...(units.length > 0 && { units }),
    ...(release.deb !== null && {
      debs: [{ source: 'debs/prop.deb' }],
      install: { packages: [{ name: 'prop' }], onRemoval: 'purge' },
    }),
    ...(release.playbook !== null && { playbooks: [{ name: 'prop', source: 'ansible/site.yml' }] }),
  };
  return {
    // JSON is YAML.
    spec: Object.entries(spec)
      .map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`)
      .join(''),
    files: {
      ...(release.deb !== null && { 'debs/prop.deb': debs.get(release.deb) ?? '' }),
      ...(release.playbook !== null && {
        'ansible/site.yml': `- hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: write\n      copy: {content: ${release.playbook}, dest: /etc/prop-playbook}\n`,
      }),
    },
  };
};
