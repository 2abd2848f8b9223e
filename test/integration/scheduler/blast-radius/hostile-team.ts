import * as fc from 'fast-check';
import { anyCharacter } from '../../../harness/fleets/any-character.ts';
import { clusterTarget, hostTarget } from '../../../harness/fleets/two-teams.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Files of a team as documents, by path; each is written as JSON, which is YAML. */
type Documents = Readonly<Record<string, Json>>;

const object = (kind: string, name: string, spec: object): Json =>
  ({ apiVersion: 'fleet-ferry/v1alpha1', kind, metadata: { name, labels: {} }, spec }) as unknown as Json;

/** What a team writes, with every field of some kind of content. It is built as it is. @param image by its digest */
type Make = (name: string, image: string) => Documents;

/** Files, a service, checks and site inputs. */
const filesTeam: Make = (name) => ({
  'workload/workload.yaml': object('Workload', name, {
    deploymentTargets: [
      { ...hostTarget, dependsOn: [], configSchemas: [], critical: false },
      { ...clusterTarget, dependsOn: [], critical: false },
    ],
  }),
  'host/package.yaml': object('HostPackage', name, {
    directories: [{ path: `/etc/${name}/d`, mode: '0755', owner: 'root', group: 'root' }],
    files: [
      { path: `/etc/${name}/a`, content: 'A=1\n', format: 'env', mode: '0644', owner: 'root', group: 'root' },
      { path: `/etc/${name}/b`, content: '{"b":1}', format: 'json' },
      { path: `/etc/${name}/c`, config: true },
      { path: `/etc/${name}/e`, source: 'package.yaml' },
    ],
    units: [
      {
        name: `${name}.service`,
        content: `[Service]\nUser=${name}\nExecStart=/bin/true\n`,
        enabled: true,
        active: true,
        restartOn: [`/etc/${name}/a`],
      },
    ],
    checks: [
      { name: 'there', type: 'file', path: `/etc/${name}/a`, maxAgeSeconds: 3600, timeoutSeconds: 1 },
      { name: 'up', type: 'unit', unit: `${name}.service`, stableSeconds: 0 },
    ],
    siteInputs: [{ name: 'line', schema: { type: 'string' }, file: `/etc/${name}/a`, pointer: '/A' }],
  }),
  'cluster/objects.yaml': {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: name }, annotations: { note: 'a' } },
    data: { a: '1' },
  },
  'cluster/service.yaml': {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
});

const onHost = (name: string, more: object = {}): Documents => ({
  'workload/workload.yaml': object('Workload', name, { deploymentTargets: [hostTarget, clusterTarget] }),
  'host/package.yaml': object('HostPackage', name, more),
  'cluster/objects.yaml': { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } },
});

const unit = (...lines: readonly string[]): string => `${lines.join('\n')}\n`;

const unitsTeam: Make = (name) =>
  onHost(name, {
    units: [
      {
        name: `${name}.service`,
        content: unit(
          '[Unit]',
          'After=network.target',
          '[Service]',
          'Type=oneshot',
          'DynamicUser=yes',
          `StateDirectory=${name}`,
          'ExecStart=/bin/true',
          'TimeoutStartSec=5s',
          'TimeoutStopSec=5s',
        ),
        enabled: false,
        active: false,
      },
      {
        name: `${name}.timer`,
        content: unit('[Timer]', 'OnCalendar=daily', '[Install]', 'WantedBy=timers.target'),
        enabled: true,
        active: true,
      },
      {
        name: `${name}.path`,
        content: unit('[Path]', `PathExists=/etc/${name}/go`, '[Install]', 'WantedBy=paths.target'),
        enabled: true,
        active: true,
      },
      { name: `${name}.slice`, content: unit('[Slice]', 'MemoryMax=64M'), enabled: false, active: false },
    ],
    checks: [{ name: 'ticks', type: 'unit', unit: `${name}.timer`, stableSeconds: 0 }],
  });

const debsTeam: Make = (name) =>
  onHost(name, {
    files: [{ path: `/opt/${name}/hook`, content: '#!/bin/sh\nexit 0\n', mode: '0755' }],
    debs: [{ source: `debs/${name}.deb` }],
    install: {
      packages: [{ name, adopt: false, hold: true }],
      atLeast: false,
      conffiles: 'keep',
      debconf: [{ package: name, question: `${name}/port`, type: 'string', value: '1' }],
      onRemoval: 'purge',
      services: 'leave',
      hooks: [{ package: name, before: `/opt/${name}/hook`, after: `/opt/${name}/hook`, timeoutSeconds: 5 }],
    },
    folders: { apt: `/srv/${name}/apt` },
  });

/** The site has no such set: the package fails there. */
const secretsTeam: Make = (name) =>
  onHost(name, {
    secrets: [{ path: `/run/${name}/s`, set: name, key: 'k', mode: '0600', owner: 'root', group: 'root' }],
  });

const playbooksTeam: Make = (name) =>
  onHost(name, {
    playbooks: [
      {
        name: 'setup',
        content: unit(
          '- hosts: localhost',
          '  gather_facts: false',
          '  tasks:',
          '    - name: write',
          `      copy: {dest: /etc/${name}.done, content: "{{ line }} {{ speed }}"}`,
        ),
        config: true,
        variables: { speed: 1 },
        siteInputs: [{ name: 'line', schema: { type: 'string' }, variable: 'line' }],
        become: false,
        order: 'after-units',
        timeoutSeconds: 30,
        checkSeconds: 0,
      },
    ],
  });

const quadletsTeam: Make = (name, image) =>
  onHost(name, {
    files: [
      {
        path: `/etc/containers/systemd/${name}.container`,
        content: unit(
          '[Container]',
          `Image=${image}`,
          `Volume=${name}.volume:/data`,
          '[Install]',
          'WantedBy=multi-user.target',
        ),
      },
      { path: `/etc/containers/systemd/${name}.volume`, content: '[Volume]\n' },
    ],
    units: [{ name: `${name}.service`, active: true }],
  });

const manifests = (name: string, image: string): Documents => {
  const metadata = { name: 'web', labels: { app: name }, annotations: { 'fleet-ferry/wait': 'enabled' } };
  const labels = { app: 'web' };
  const resources = { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '64Mi' } };
  const template = {
    metadata: { labels },
    spec: {
      containers: [
        { name: 'main', image, env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }], resources },
      ],
      volumes: [{ name: 'map', configMap: { name: 'web' } }],
    },
  };
  const job = {
    backoffLimit: 0,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image }] } },
  };
  const made: Readonly<Record<string, Json>> = {
    map: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' }, binaryData: { b: 'AA==' } },
    deployment: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1, progressDeadlineSeconds: 600, selector: { matchLabels: labels }, template },
    },
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 80 }] },
    },
    cron: {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata,
      spec: { schedule: '0 3 * * *', jobTemplate: { spec: job } },
    },
    policy: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: { podSelector: { matchLabels: labels }, policyTypes: ['Ingress'] },
    },
    budget: {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    },
    account: { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    role: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    },
  };
  return Object.fromEntries(Object.entries(made).map(([path, one]) => [`${path}.yaml`, one]));
};

const under = (folder: string, files: Documents): Documents =>
  Object.fromEntries(Object.entries(files).map(([path, one]) => [`${folder}/${path}`, one]));

const objectsTeam: Make = (name, image) => ({ ...onHost(name), ...under('cluster', manifests(name, image)) });

const chartTeam: Make = (name, image) => {
  const { 'cluster/objects.yaml': _, ...rest } = onHost(name);
  const cluster = {
    ...clusterTarget,
    manifests: {
      path: 'cluster',
      type: 'helm',
      values: ['more.yaml'],
      releaseName: 'web',
      hooks: 'drop',
      valuesFrom: 'config',
      valuesKey: 'site',
    },
  };
  return {
    ...rest,
    'workload/workload.yaml': object('Workload', name, { deploymentTargets: [hostTarget, cluster] }),
    'cluster/Chart.yaml': {
      apiVersion: 'v2',
      name: 'web',
      version: '1.0.0',
      appVersion: '1',
      type: 'application',
    },
    'cluster/values.yaml': { a: { b: [1, 'two'] } },
    'cluster/more.yaml': { a: { c: true } },
    ...under('cluster/templates', manifests(name, image)),
  };
};

/** Kinds of teams: what they write, and the users of the host that their workspace is granted. */
export const KINDS = {
  files: { make: filesTeam, users: (name: string) => [name] },
  secrets: { make: secretsTeam, users: (name: string) => [name] },
  units: { make: unitsTeam, users: (name: string) => [name] },
  debs: { make: debsTeam, users: () => ['root'] },
  playbooks: { make: playbooksTeam, users: () => ['root'] },
  quadlets: { make: quadletsTeam, users: () => ['root'] },
  objects: { make: objectsTeam, users: (name: string) => [name] },
  chart: { make: chartTeam, users: (name: string) => [name] },
} as const;
export type Kind = keyof typeof KINDS;

/** The place of a value in the documents of a team. */
type Pointer = readonly (string | number)[];

const pointersIn = (value: Json, at: Pointer = []): readonly Pointer[] => {
  const below =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, one]) =>
          pointersIn(one, [...at, Array.isArray(value) ? Number(key) : key]),
        )
      : [];
  return at.length < 2 ? below : [at, ...below];
};

/** Every field of every kind of team, by its place. */
export const FIELDS: readonly { readonly kind: Kind; readonly pointer: Pointer }[] = (
  Object.keys(KINDS) as Kind[]
).flatMap((kind) => pointersIn(KINDS[kind].make('any', 'image')).map((pointer) => ({ kind, pointer })));

const withValue = (value: Json, [key, ...rest]: Pointer, change: (old: Json) => Json | undefined): Json => {
  if (key === undefined) return change(value) ?? null;
  if (Array.isArray(value))
    return value.map((one: Json, at) => (at === key ? withValue(one, rest, change) : one));
  const fields = value as { readonly [key: string]: Json };
  return { ...fields, [key]: withValue(fields[key] as Json, rest, change) };
};

const VICTIMS = [
  'payments',
  'payments-host',
  'payments-cluster',
  'team-payments',
  'payments.service',
  '/etc/payments/version',
  '/etc/payments',
  'guest-host',
  'host',
  'prod',
];
const STRANGE = [
  '',
  '.',
  '..',
  '/',
  '../../payments/host',
  '__proto__',
  'constructor',
  '/etc/../etc/payments/version',
  '/var/lib/fleet-agent',
  '${HOME}',
  '{{ .Workload }}',
  'a\nb',
  '\u0000',
  '\ud800',
  '*',
  '~',
  'true',
  '0x10',
  '1e400',
];
const LENGTHS = [63, 64, 128, 129, 253, 255, 256, 512, 513, 1024, 1025, 4096, 4097, 70_000];
const NUMBERS = [0, -1, 0.5, 1, 100, 101, 1000, 3601, 86_401, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e308];

/** What is put in the place of a value, or made of it. */
const hostile: fc.Arbitrary<(old: Json) => Json> = fc.oneof(
  fc.constantFrom(...VICTIMS, ...STRANGE).map((text) => () => text),
  fc
    .tuple(fc.constantFrom(...LENGTHS), fc.constantFrom('a', '/b', 'é', 'A-'))
    .map(([length, unit]) => (old: Json) => {
      const start = typeof old === 'string' ? old : '';
      return (start + unit.repeat(length)).slice(0, length);
    }),
  fc.constantFrom(...VICTIMS).map((name) => () => [name]),
  fc.constantFrom(...NUMBERS).map((number) => () => number),
  fc.constantFrom<Json>(true, false, null, [], {}).map((value) => () => value),
  fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => () => text),
  fc
    .constantFrom(2, 65, 101, 1001, 4097)
    .map(
      (count) => (old: Json) =>
        Array.isArray(old)
          ? Array.from({ length: count }, (_, at) => old[at % Math.max(1, old.length)] ?? null)
          : old,
    ),
  fc
    .constantFrom(10, 33, 70)
    .map(
      (depth) => (old: Json) => Array.from({ length: depth }).reduce<Json>((inner) => ({ a: inner }), old),
    ),
);

export type Attack = { readonly kind: Kind; readonly pointer: Pointer; readonly change: (old: Json) => Json };

/** Each kind as often as any other: some have many more fields. */
export const attack: fc.Arbitrary<Attack> = fc
  .tuple(
    fc.oneof(
      ...Object.values(Object.groupBy(FIELDS, ({ kind }) => kind)).map((own) => fc.constantFrom(...own)),
    ),
    hostile,
  )
  .map(([{ kind, pointer }, change]) => ({
    kind,
    pointer,
    change,
    toString: () => `${kind}: ${pointer.join('/')} = ${JSON.stringify(change('old'))?.slice(0, 80)}`,
  }));

/** The files of a team; with an attack, one value in them is hostile. */
export const filesOf = (
  name: string,
  image: string,
  { kind, attack: hit }: { readonly kind: Kind; readonly attack?: Attack },
): Readonly<Record<string, string>> => {
  const made = KINDS[kind].make(name, image);
  const documents = hit ? (withValue(made, hit.pointer, hit.change) as Documents) : made;
  return Object.fromEntries(Object.entries(documents).map(([path, one]) => [path, JSON.stringify(one)]));
};
