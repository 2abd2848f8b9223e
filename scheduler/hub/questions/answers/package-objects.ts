import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { HOST_PACKAGE, type HostPackage, parseHostPackage } from '#bundles/formats/bundle/host-package';
import { type Item, readItems } from '#bundles/formats/diff/read-items';

/** A part of a package that an agent compares with the site. */
export type PackageObject = {
  /** As agents name it in reports of drift. */
  readonly key: string;
  /** As people name it. */
  readonly object: string;
  /** Heading that it is listed under: its kind. */
  readonly group: string;
  readonly file: string;
  /** The wanted state in one line; null for an object or file, which has its text in `item`. */
  readonly wanted: string | null;
  /** Its text, for comparisons. */
  readonly item: Item;
};

type Files = ReadonlyMap<string, Buffer>;

/** The parts of a package: objects of Kubernetes, or directories, files, units, Debian packages, playbooks, images and checks of a host. */
export const packageObjects = (files: Files): readonly PackageObject[] => {
  const host = files.get(HOST_PACKAGE);
  const found = host && readHost(host);
  // The other files of a host package are contents of these parts.
  const objects = found ? hostObjects(found) : [...readItems(files).values()].map(toObject);
  return objects.toSorted((a, b) => compareBytes(a.group, b.group) || compareBytes(a.object, b.object));
};

/** undefined: a file of that name in a package of Kubernetes, or of a version that cannot be read. */
const readHost = (bytes: Buffer): HostPackage | undefined => {
  try {
    return parseHostPackage(bytes);
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};

const toObject = (item: Item): PackageObject => {
  const { apiVersion, kind, metadata } = (item.object ?? {}) as {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly metadata?: { readonly name?: string; readonly namespace?: string };
  };
  const common = { object: item.key, file: item.file, wanted: null, item };
  if (kind === undefined) return { ...common, key: item.key, group: 'Files' };
  const [group] = apiVersion?.includes('/') === true ? apiVersion.split('/') : [''];
  return {
    ...common,
    key: `${group}/${kind}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`,
    group: kind,
  };
};

const hostObjects = (host: HostPackage): readonly PackageObject[] => {
  const { directories, files, secrets = [], units, checks, probes = [], images = [], playbooks = [] } = host;
  return [
    ...directories.map((one) => entry('Directories', `directory:${one.path}`, one.path, ownerLines(one))),
    ...files.map((one) =>
      entry('Files', `file:${one.path}`, one.path, [
        ...ownerLines(one),
        ...('content' in one ? [] : [`content: ${one.digest}`]),
      ]),
    ),
    ...secrets.map((one) => entry('Secrets', `secret:${one.path}`, one.path, ownerLines(one))),
    ...units.map(({ name, enabled, active }) =>
      entry('Units', `unit:${name}`, name, [
        `starts at boot: ${enabled ? 'yes' : 'no'}`,
        `runs: ${active ? 'yes' : 'no'}`,
      ]),
    ),
    ...(host.install?.packages ?? []).map(({ name, version, atLeast }) =>
      entry('Debian packages', `deb:${name}`, name, [
        `version: ${version}${atLeast === true ? ' or newer' : ''}`,
      ]),
    ),
    ...(host.rauc ? [entry('Systems', 'rauc:system', 'system', [`version: ${host.rauc.version}`])] : []),
    ...playbooks.map(({ folder, name, playbook, order }) =>
      entry('Playbooks', `playbook:${folder}`, name, [`playbook: ${playbook}`, `runs: ${order}`]),
    ),
    ...images.map((name) => entry('Images', `image:${name}`, name, [])),
    ...[...checks, ...probes].map(({ name, type }) =>
      entry('Checks', `check:${name}`, name, [`type: ${type}`]),
    ),
  ];
};

type Owned = { readonly mode: string; readonly owner: string; readonly group: string };

const ownerLines = ({ mode, owner, group }: Owned): readonly string[] => [
  `mode: ${mode}`,
  `owner: ${owner}:${group}`,
];

const entry = (group: string, key: string, object: string, lines: readonly string[]): PackageObject => ({
  key,
  object,
  group,
  file: HOST_PACKAGE,
  wanted: lines.length === 0 ? null : lines.join(', '),
  item: {
    key: object,
    // Its lines are of our own and not of that file.
    file: key,
    object: undefined,
    text: [key.replace(':', ' '), ...lines.map((line) => `  ${line}`), ''].join('\n'),
  },
});
