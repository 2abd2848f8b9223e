import * as fc from 'fast-check';
import { anyCharacter } from '../../../harness/fleets/any-character.ts';
import { clusterTarget, hostTarget } from '../../../harness/fleets/two-teams.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Files of a team as documents, by path; each is written as JSON, which is YAML. */
type Documents = Readonly<Record<string, Json>>;

const object = (kind: string, name: string, spec: object): Json =>
  ({ apiVersion: 'fleet-ferry/v1alpha1', kind, metadata: { name, labels: {} }, spec }) as unknown as Json;

/** A team that uses every field whose content it can write itself, and is built as it is. */
export const fullTeam = (name: string): Documents => ({
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
    secrets: [{ path: `/run/${name}/s`, set: name, key: 'k', mode: '0600' }],
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

/** Every field of an author, by its place. */
export const FIELDS = pointersIn(fullTeam('any'));

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

export type Attack = { readonly pointer: Pointer; readonly change: (old: Json) => Json };

export const attack: fc.Arbitrary<Attack> = fc
  .tuple(fc.constantFrom(...FIELDS), hostile)
  .map(([pointer, change]) => ({ pointer, change, toString: () => pointer.join('/') }));

/** The files of a team with one hostile value. */
export const filesOf = (name: string, { pointer, change }: Attack): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(withValue(fullTeam(name), pointer, change) as Documents).map(([path, document]) => [
      path,
      JSON.stringify(document),
    ]),
  );
