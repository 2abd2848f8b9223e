import { clusterTarget, hostPackage, hostTarget, workload } from '../../../harness/fleets/two-teams.ts';

type Files = Readonly<Record<string, string>>;

/** How a team reaches a limit. */
export type Reach = {
  /** @param image digest of an image that the build finds */
  readonly files: (value: number, image: string) => Files;
  /** Far over the limit. */
  readonly far?: number;
  /** Another limit holds the team already at this one. */
  readonly held?: boolean;
  /** The team is never held: the value is split. */
  readonly anyway?: boolean;
  /** Only in a long run. */
  readonly slow?: boolean;
  /** Building thousands of items: at the limit itself only in a long run. One beyond it is tried in each. */
  readonly costly?: boolean;
};

const host = (spec: object): Files => ({
  'workload/workload.yaml': workload('hostile', [hostTarget]),
  'host/package.yaml': hostPackage('hostile', { files: [file()], ...spec }),
});

const file = (more: object = {}): object => ({
  path: '/etc/hostile/a',
  content: 'A=1\n',
  format: 'env',
  ...more,
});

const many = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** An absolute path of so many characters. */
const pathOf = (length: number, prefix = '/etc/hostile/'): string => {
  const parts: string[] = [];
  for (let left = length - prefix.length; left > 0; left -= 101) parts.push('p'.repeat(Math.min(100, left)));
  const path = prefix + parts.join('/');
  return path.length < length ? path + 'q'.repeat(length - path.length) : path;
};

const input = (more: object = {}): object => ({
  name: 'line',
  schema: { type: 'string' },
  file: '/etc/hostile/a',
  pointer: '/A',
  ...more,
});

const images = (names: readonly string[]): Files => ({
  'workload/workload.yaml': workload('hostile', [clusterTarget]),
  'cluster/pods.yaml': JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: names.map((image, at) => ({ name: `c${at}`, image })) },
      },
    },
  }),
});

/** The name of an image with so many characters. */
const imageOf = (length: number, image: string): string => {
  const start = 'registry.example/';
  return `${start}${'n'.repeat(length - start.length - image.length - 1)}@${image}`;
};

const check = (more: object): Files =>
  host({ checks: [{ name: 'up', type: 'exec', argv: ['/bin/true'], ...more }] });
const exec = (): object => ({ name: 'up', type: 'exec', argv: ['/bin/true'] });
const tcp = (): object => ({ name: 'up', type: 'tcp', address: '127.0.0.1:1' });
const unit = (more: object = {}): object => ({
  name: 'hostile.service',
  active: false,
  enabled: false,
  ...more,
});
const secret = (more: object = {}): object => ({
  path: '/run/hostile/a',
  set: 'team-hostile',
  key: 'a',
  ...more,
});

/** So many targets, each with a folder of its own. */
const targets = (count: number): Files => ({
  'workload/workload.yaml': workload(
    'hostile',
    many(count, (index) => ({ ...hostTarget, name: `t${index}`, manifests: { path: `host${index}` } })),
  ),
  ...Object.fromEntries(
    many(count, (index) => [
      `host${index}/package.yaml`,
      hostPackage('hostile', { files: [{ path: `/etc/hostile/${index}`, content: '1' }] }),
    ]),
  ),
});

const config = (part: string): string => `bundle-config ${part}`;
const json = (part: string): string => `host-package ${part}`;

const folderOf = (length: number): Files => {
  const folder = many(Math.ceil(length / 100), () => 'd'.repeat(99))
    .join('/')
    .slice(0, length)
    .replace(/\/$/, 'e');
  return {
    'workload/workload.yaml': workload('hostile', [{ ...hostTarget, manifests: { path: folder } }]),
    [`${folder}/package.yaml`]: hostPackage('hostile', { files: [file()] }),
  };
};

export const REACHED: Readonly<Record<string, Reach>> = {
  [config('/siteInputs/fields[]/input maxLength')]: {
    files: (length) => host({ siteInputs: [input({ name: 'n'.repeat(length) })] }),
    far: 100_000,
  },
  [config('/siteInputs/fields[]/pointer maxLength')]: {
    files: (length) => {
      const name = 'A'.repeat(length - 1);
      return host({
        files: [file({ content: `${name}=1\n` })],
        siteInputs: [input({ pointer: `/${name}` })],
      });
    },
    far: 2000,
  },
  [config('/siteInputs/fields[]/file maxLength')]: {
    files: (length) =>
      host({ files: [file({ path: pathOf(length) })], siteInputs: [input({ file: pathOf(length) })] }),
    // Its path in the layer is longer.
    held: true,
  },
  [config('/siteInputs/fields maxItems')]: {
    costly: true,
    files: (count) => {
      const content = many(count, (index) => `A${index}=1`).join('\n');
      return host({
        files: [file({ content })],
        siteInputs: many(count, (index) => input({ pointer: `/A${index}` })),
      });
    },
  },
  [config('/assignments[]/dependsOn maxItems')]: {
    files: (count) => {
      const dependsOn = many(count, () => 'payments-host');
      return { ...host({}), 'workload/workload.yaml': workload('hostile', [{ ...hostTarget, dependsOn }]) };
    },
    far: 5000,
  },
  ['candidate /sources[]/path maxLength']: {
    // "host" of the path is the team's folder.
    files: (length) => folderOf(length),
    far: 1500,
  },
  ['bundle-predicate /held[]/at/file maxLength']: {
    files: (length) => {
      const files = folderOf(length - 200);
      return { ...files, [`${Object.keys(files)[1]}`]: '{nonsense' };
    },
    held: true,
    far: 1500,
  },
  ['bundle-predicate /held[]/message maxLength']: {
    files: (length) => host({ files: [file({ source: 's'.repeat(length), content: undefined })] }),
    held: true,
    far: 100_000,
  },
  [json('/directories maxItems')]: {
    costly: true,
    files: (count) => host({ directories: many(count, (index) => ({ path: `/etc/hostile/d${index}` })) }),
  },
  [json('/directories[]/path maxLength')]: {
    files: (length) => host({ directories: [{ path: pathOf(length) }] }),
    far: 5000,
  },
  [json('/files[]/path maxLength')]: {
    files: (length) => host({ files: [file({ path: pathOf(length) })] }),
    held: true,
    far: 5000,
  },
  [json('/files[]/content maxLength')]: {
    files: (length) => host({ files: [file({ path: pathOf(length - 'files'.length) })] }),
    held: true,
    far: 300,
  },
  [json('/secrets maxItems')]: {
    files: (count) => host({ secrets: many(count, (index) => secret({ path: `/run/hostile/s${index}` })) }),
    far: 5000,
  },
  [json('/secrets[]/path maxLength')]: {
    files: (length) => host({ secrets: [secret({ path: pathOf(length, '/run/hostile/') })] }),
    far: 5000,
  },
  [json('/units maxItems')]: {
    files: (count) => host({ units: many(count, (index) => unit({ name: `hostile@${index}.service` })) }),
    far: 3000,
  },
  [json('/units[]/restartOn maxItems')]: {
    files: (count) => host({ units: [unit({ restartOn: many(count, () => '/etc/hostile/a') })] }),
    far: 5000,
  },
  [json('/units[]/restartOn[] maxLength')]: {
    files: (length) => host({ units: [unit({ restartOn: [pathOf(length)] })] }),
    // It must be a file of the package, whose path is shorter.
    held: true,
    far: 5000,
  },
  [json('/checks maxItems')]: {
    files: (count) => host({ checks: many(count, () => exec()) }),
    far: 1000,
  },
  [json('/checks[]/name maxLength')]: { files: (length) => check({ name: 'n'.repeat(length) }), far: 10_000 },
  [json('/checks[]/argv maxItems')]: {
    files: (count) => check({ argv: many(count, () => '/bin/true') }),
    far: 1000,
  },
  [json('/checks[]/argv[] maxLength')]: {
    files: (length) => check({ argv: ['/bin/true', 'x'.repeat(length)] }),
    far: 100_000,
  },
  [json('/checks[]/timeoutSeconds maximum')]: {
    // More than the time of its workspace.
    held: true,
    files: (value) => check({ timeoutSeconds: value }),
    far: 2 ** 53 - 1,
  },
  [json('/checks[]/url maxLength')]: {
    files: (length) =>
      check({ type: 'http', argv: undefined, url: `http://127.0.0.1/${'u'.repeat(length - 17)}` }),
    far: 10_000,
  },
  [json('/checks[]/status maximum')]: {
    files: (value) => check({ type: 'http', argv: undefined, url: 'http://127.0.0.1/', status: value }),
    far: 2 ** 40,
  },
  [json('/checks[]/stableSeconds maximum')]: {
    // More than the time of its workspace.
    held: true,
    files: (value) =>
      host({
        units: [unit({ active: true })],
        checks: [{ name: 'up', type: 'unit', unit: 'hostile.service', stableSeconds: value }],
      }),
    far: 2 ** 40,
  },
  [json('/probes maxItems')]: { files: (count) => host({ checks: many(count, () => tcp()) }), far: 1000 },
  [json('/probes[]/name maxLength')]: {
    files: (length) => host({ checks: [{ ...tcp(), name: 'n'.repeat(length) }] }),
    far: 10_000,
  },
  [json('/probes[]/host maxLength')]: {
    files: (length) => host({ checks: [{ ...tcp(), address: `${'h'.repeat(length)}:1` }] }),
    far: 5000,
  },
  [json('/probes[]/port maximum')]: {
    files: (value) => host({ checks: [{ ...tcp(), address: `127.0.0.1:${value}` }] }),
    far: 99_999,
  },
  [json('/probes[]/path maxLength')]: {
    files: (length) => host({ checks: [{ name: 'up', type: 'file', path: pathOf(length) }] }),
    far: 5000,
  },
  [json('/probes[]/maxAgeSeconds maximum')]: {
    files: (value) =>
      host({ checks: [{ name: 'up', type: 'file', path: '/etc/hostile/a', maxAgeSeconds: value }] }),
    far: 2 ** 40,
  },
  [json('/probes[]/timeoutSeconds maximum')]: {
    // More than the time of its workspace.
    held: true,
    files: (value) => host({ checks: [{ ...tcp(), timeoutSeconds: value }] }),
    far: 2 ** 40,
  },
  [config('/closure[]/names[] maxLength')]: {
    files: (length, image) => images([imageOf(length, image)]),
    // A repository has at most 255 characters.
    held: true,
    far: 3000,
  },
  ['candidate /images[]/name maxLength']: {
    files: (length, image) => images([imageOf(length, image)]),
    // A repository has at most 255 characters.
    held: true,
    far: 3000,
  },
  [config('/closure[]/names maxItems')]: {
    // More names than one entry holds are in several.
    files: (count, image) => images(many(count, (index) => `registry.example/n${index}@${image}`)),
    anyway: true,
    far: 300,
  },
  [config('/assignments maxItems')]: {
    // The other team has one of them, and each needs files of its own.
    files: (count) => targets(count - 1),
    slow: true,
    held: true,
  },
  ['candidate /sources maxItems']: {
    files: (count) => targets(count),
    slow: true,
    held: true,
  },
};

const PLATFORM = 'the platform alone writes it: cluster types, policies, registrations and grants';
const OURS = 'the program writes it, from no text of a team, or cuts it to what fits';
const LABEL = 'DNS labels of 63 characters, or made of them';
const DEBIAN = 'needs a Debian archive; parseHostPackage judges it with the rest of package.json';
const ANSIBLE = 'needs a playbook with its parts; parseHostPackage judges it with the rest of package.json';
const OWNER = "the author's field has the same limit";
const SIZES = 'more than a build of a test can have; the size of the config comes first';
const EVIDENCE = 'evidence in the layout of images, which teams do not write; refusedAlone judges the entry';
const SAME = 'judged by the same rule as in the candidate';

export const UNREACHED: Readonly<Record<string, string>> = {
  'bundle-config /assignments[]/rules/objects maxItems': PLATFORM,
  'bundle-config /assignments[]/rules/objects[] maximum': PLATFORM,
  'bundle-config /objectRules maxItems': PLATFORM,
  'bundle-config /objectRules[]/health/current maxLength': PLATFORM,
  'bundle-config /objectRules[]/health/failed maxLength': PLATFORM,
  'bundle-config /objectRules[]/health/inProgress maxLength': PLATFORM,
  'bundle-config /objectRules[]/ignore maxItems': PLATFORM,
  'bundle-config /objectRules[]/ignoreManagers maxItems': PLATFORM,
  'bundle-config /objectRules[]/ignoreManagers[] maxLength': PLATFORM,
  'bundle-config /objectRules[]/ignore[] maxLength': PLATFORM,
  'bundle-config /objectRules[]/kinds maxItems': PLATFORM,
  'bundle-config /objectRules[]/kinds[] maxLength': PLATFORM,
  'bundle-config /objectRules[]/names maxItems': PLATFORM,
  'bundle-config /objectRules[]/names[] maxLength': PLATFORM,
  'bundle-config /objectRules[]/namespaces maxItems': PLATFORM,
  'bundle-config /objectRules[]/namespaces[] maxLength': PLATFORM,
  ...Object.fromEntries(
    [
      'clusterScoped',
      'namespaces',
      'paths',
      'platform',
      'secretSets',
      'siteValues',
      'units',
      'users',
    ].flatMap((list) => [
      [config(`/assignments[]/bounds/${list} maxItems`), PLATFORM],
      [config(`/assignments[]/bounds/${list}[] maxLength`), PLATFORM],
    ]),
  ),
  [config('/assignments[]/blobs maxItems')]: SIZES,
  [config('/assignments[]/namespace maxLength')]: LABEL,
  [config('/assignments[]/path maxLength')]: LABEL,
  [config('/assignments[]/workspace maxLength')]: LABEL,
  [config('/closure maxItems')]: SIZES,
  [config('/closure[]/attachmentTags maxProperties')]: EVIDENCE,
  [config('/closure[]/attachments maxItems')]: EVIDENCE,
  [config('/closure[]/mediaType maxLength')]: EVIDENCE,
  [config('/closure[]/platform maxLength')]: OURS,
  [config('/critical maxItems')]: OURS,
  [config('/critical[] maxLength')]: OURS,
  ...Object.fromEntries(
    [
      ' maxItems',
      '[]/certificates/signers maxItems',
      '[]/certificates/signers[]/identity maxLength',
      '[]/certificates/signers[]/issuer maxLength',
      '[]/certificates/trustedRoot maxLength',
      '[]/except maxItems',
      '[]/except[] maxLength',
      '[]/keys maxItems',
      '[]/keys[] maxLength',
      '[]/match maxItems',
      '[]/match[] maxLength',
      '[]/name maxLength',
    ].map((part) => [config(`/imagePolicy${part}`), PLATFORM]),
  ),
  [config('/reboot/windows maxItems')]: PLATFORM,
  [config('/reboot/windows[] maxLength')]: PLATFORM,
  [config('/requirements/agent maxLength')]: PLATFORM,
  [config('/requirements/kubernetes maxLength')]: PLATFORM,
  [config('/siteInputs/configs maxItems')]: SIZES,
  [config('/siteInputs/configs[]/file maxLength')]: OURS,
  [config('/siteInputs/configs[]/pointer maxLength')]: OURS,
  'bundle-predicate /builder maxLength': OURS,
  'bundle-predicate /critical maxItems': OURS,
  'bundle-predicate /critical[] maxLength': OURS,
  'bundle-predicate /held maxItems': OURS,
  'bundle-predicate /held[]/code maxLength': OURS,
  'bundle-predicate /sources maxItems': OURS,
  'bundle-predicate /sources[]/described/version maxLength': SAME,
  'bundle-predicate /sources[]/path maxLength': SAME,
  'bundle-predicate /sources[]/ref maxLength': SAME,
  'bundle-predicate /sources[]/repo maxLength': SAME,
  'bundle-predicate /sources[]/role maxLength': SAME,
  'candidate /charts maxItems': SIZES,
  'candidate /charts[]/name maxLength':
    'needs a registry of charts; load-applications judges each chart as a candidate',
  'candidate /charts[]/version maxLength': OWNER,
  'candidate /declared maxItems': SIZES,
  'candidate /declared[]/in maxLength': PLATFORM,
  'candidate /declared[]/policies maxItems': PLATFORM,
  'candidate /declared[]/policies[]/name maxLength': PLATFORM,
  'candidate /declared[]/policies[]/workspace maxLength': PLATFORM,
  'candidate /files maxItems': SIZES,
  'candidate /files[]/name maxLength': OWNER,
  'candidate /images maxItems': SIZES,
  'candidate /kept maxItems': OURS,
  'candidate /names maxItems': SIZES,
  'candidate /names[] maxLength': LABEL,
  'candidate /sources[]/described/version maxLength':
    'tried in list-sources.test.ts, without the repository of a team',
  'candidate /sources[]/ref maxLength': 'tried in list-sources.test.ts, without the repository of a team',
  'candidate /sources[]/repo maxLength': 'tried in list-sources.test.ts, without the repository of a team',
  'candidate /sources[]/role maxLength': 'tried in list-sources.test.ts, without the repository of a team',
  'candidate /tools maxItems': OURS,
  'candidate /tools[]/name maxLength': OURS,
  'candidate /tools[]/version maxLength': OURS,
  [json('/checks[]/unit maxLength')]: OWNER,
  [json('/critical maxItems')]: OURS,
  [json('/critical[] maxLength')]: OURS,
  [json('/directories[]/group maxLength')]: OWNER,
  [json('/directories[]/owner maxLength')]: OWNER,
  [json('/files maxItems')]: SIZES,
  [json('/files[]/group maxLength')]: OWNER,
  [json('/files[]/owner maxLength')]: OWNER,
  [json('/images maxItems')]: 'a quadlet names an image each, and the folder of quadlets is granted to few',
  [json('/images[] maxLength')]: 'the name in the closure is shorter, which is judged too',
  ...Object.fromEntries(
    [
      'debconf maxItems',
      'debconf[]/question maxLength',
      'hooks maxItems',
      'hooks[]/after maxLength',
      'hooks[]/before maxLength',
      'hooks[]/restore maxLength',
      'hooks[]/timeoutSeconds maximum',
      'packages maxItems',
      'repository maxLength',
    ].map((part) => [json(`/install/${part}`), DEBIAN]),
  ),
  ...Object.fromEntries(
    [
      ' maxItems',
      '[]/checkSeconds maximum',
      '[]/collections maxItems',
      '[]/collections[]/path maxLength',
      '[]/files maxItems',
      '[]/files[] maxLength',
      '[]/folder maxLength',
      '[]/playbook maxLength',
      '[]/roles maxItems',
      '[]/roles[]/path maxLength',
      '[]/timeoutSeconds maximum',
      '[]/variables maxLength',
      '[]/vaultPassword maxLength',
    ].map((part) => [json(`/playbooks${part}`), ANSIBLE]),
  ),
  [json('/secrets[]/content maxLength')]: 'as the path of a file; needs a file of SOPS',
  [json('/secrets[]/group maxLength')]: OWNER,
  [json('/secrets[]/owner maxLength')]: OWNER,
  [json('/secrets[]/size maximum')]: 'needs a file of SOPS; resolveSecret reads no more',
  'host-package /rauc/version maxLength': PLATFORM,
};
