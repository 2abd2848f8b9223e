import { posix } from 'node:path';
import type { Digest } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import { has, implies, keeping, oneRule, type Stated } from '../../model/yaml/field-rules.ts';
import {
  fields,
  list,
  narrowed,
  optional,
  placed,
  refuse,
  required,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { type InstallObject, install } from './install-object.ts';
import { hostPath, sha256, webAddress } from '../../load/objects/host-fields.ts';

/** Source of external content: exactly one of `url` and `source`. */
export type ContentObject = {
  readonly url: string | undefined;
  /** SHA-256 of the content of `url`; default: the one in the lock file. */
  readonly sha256: Digest | undefined;
  /** A file of the application. */
  readonly source: string | undefined;
  readonly at: Place;
};

/** Debian packages: `packages` by name from the cluster type's base, or one file by `url` or `source`. */
export type DebObject = ContentObject & { readonly packages: readonly string[] | undefined };

/** A system image for the slots of the host. */
export type RaucObject = ContentObject & {
  /** As the manifest of the bundle names it. */
  readonly version: string;
};

export type RoleObject = ContentObject & { readonly name: string };

/** The archive of a chart; `chart` and `version` instead of an address name it in its registry. */
export type ChartObject = ContentObject & {
  readonly chart: string | undefined;
  readonly version: string | undefined;
};

/** The parts of a HostPackage that other programs of the host use. */
export type HostContentsObject = {
  readonly debs: readonly DebObject[];
  readonly install: InstallObject | undefined;
  readonly rauc: RaucObject | undefined;
  readonly collections: readonly ContentObject[];
  readonly roles: readonly RoleObject[];
  readonly charts: readonly ChartObject[];
  /** Target folders; default: folders of the package. */
  readonly folders: {
    readonly apt: string | undefined;
    readonly ansible: string | undefined;
    readonly charts: string | undefined;
  };
};

const origin = {
  url: optional(webAddress, undefined, 'Address that the build fetches it from.'),
  sha256: optional(sha256, undefined, 'SHA-256 of what `url` names. Without it `images.lock.yaml` has it.'),
  source: optional(text, undefined, 'File of the application, relative to this object.'),
};

const SHA256_OF_URL: Stated<object> = [
  implies(has('sha256'), has('url')),
  () => 'a sha256 belongs to a url; of a source the repository says what it is',
];

const ORIGIN: readonly Stated<object>[] = [
  [oneRule(has('url'), has('source')), () => 'exactly one of url and source says where the bytes come from'],
  SHA256_OF_URL,
];

const content = keeping(fields(origin), ...ORIGIN);

const debName = textLike(
  /^[a-z0-9][a-z0-9+.-]*[a-z0-9+.](?:=[0-9][A-Za-z0-9.+~:-]*)?$/,
  'is not a Debian package',
  'Write it like nginx, or nginx=1.22.1-9',
);

const deb = keeping(
  fields({
    ...origin,
    packages: optional(
      narrowed(list(debName), { minItems: 1 }, (read, node, path, reading) =>
        read.length > 0 ? read : refuse(reading, node, `${path} is empty`, 'Name at least one package'),
      ),
      undefined,
      'Package names. `images lock` adds what they depend on, for the DebianBase of each cluster type.',
    ),
  }),
  [
    oneRule(has('url'), has('source'), has('packages')),
    ({ packages }) =>
      packages === undefined
        ? 'exactly one of url and source says where the bytes come from'
        : ['packages stand alone', 'Write an entry of its own for a url or source'],
  ],
  SHA256_OF_URL,
);

const roleName = textLike(
  /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/,
  'is not a name of a role',
  'Write it as playbooks call it, like factory.printer',
);

const chartAddress = textLike(
  /^(?:oci|https?):\/\/[^/@]+\/[^@]*[^/@]$/,
  'is not an address of a chart',
  'Write it like oci://registry.example/charts/printer, or https://charts.example/printer',
);

const version = textLike(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,127}$/, 'is not a version', 'Write it like 1.4.2');

const CHART_NAME = '[A-Za-z0-9][A-Za-z0-9._+-]{0,200}\\.tgz';
const CHART_FILE = new RegExp(`^${CHART_NAME}$`);

const imageVersion = textLike(
  /^[!-~]{1,128}$/,
  'is not a version of a RAUC bundle',
  'Write it as its manifest does, without spaces, like 2026.11.1',
);

const rauc = keeping(
  fields({
    ...origin,
    version: required(
      imageVersion,
      'Version that the manifest of the bundle names. Another bundle has another version.',
    ),
  }),
  ...ORIGIN,
);

const role = keeping(
  fields({ ...origin, name: required(roleName, 'Name that playbooks call the role by.') }),
  ...ORIGIN,
);

const NO_SOURCE = [
  'a chart has chart and version, or url, or source',
  'chart and version name it in a registry or chart repository',
] as const;

const chartFields = keeping(
  fields({
    ...origin,
    chart: optional(chartAddress, undefined, 'Address of the chart in a registry or chart repository.'),
    version: optional(
      version,
      undefined,
      'Exact version. Together with `chart`, instead of `url` and `source`.',
    ),
  }),
  [
    oneRule(has('chart', 'version'), has('url'), has('source')),
    ({ chart, version }) =>
      chart === undefined && version === undefined
        ? 'exactly one of url and source says where the bytes come from'
        : NO_SOURCE,
  ],
  SHA256_OF_URL,
  [implies(has('chart'), has('version')), () => NO_SOURCE],
  [implies(has('version'), has('chart')), () => NO_SOURCE],
);

const chart = narrowed(
  chartFields,
  {
    properties: {
      url: { pattern: `/${CHART_NAME}/?(?:[?].*)?$` },
      source: { pattern: `(?:^|/)${CHART_NAME}/*$` },
    },
  },
  (it, node, _path, reading) => {
    const file = it.chart === undefined ? chartFile(it) : undefined;
    if (file === undefined || CHART_FILE.test(file)) return it;
    return refuse(
      reading,
      node,
      `${JSON.stringify(file)} is not a file name of a chart`,
      'It ends in .tgz, like printer-1.4.2.tgz',
    );
  },
);

/** Fields of the spec, beside those of host-package-object.ts. */
export const contentSpec = {
  debs: optional(
    list(placed(deb)),
    [],
    'Debian packages. They make one apt repository on the host; `install` says what is installed from it.',
  ),
  install: optional(
    placed(install),
    undefined,
    'Installs Debian packages of `debs`, with apt and without a network.',
  ),
  rauc: optional(
    placed(rauc),
    undefined,
    'RAUC bundle, a system image, in packages of the platform alone. The agent has RAUC install it into the slot that is not booted, reboots the host, and goes back to the slot before it if a check fails.',
  ),
  collections: optional(list(placed(content)), [], 'Ansible collections, as tarballs.'),
  roles: optional(list(placed(role)), [], 'Ansible roles, as tarballs.'),
  charts: optional(list(placed(chart)), [], 'Helm charts, as `.tgz` files on the host.'),
  folders: optional(
    fields({
      apt: optional(hostPath, undefined, 'Folder of the apt repository.'),
      ansible: optional(hostPath, undefined, 'Folder of collections, roles and `requirements.yml`.'),
      charts: optional(hostPath, undefined, 'Folder of the charts.'),
    }),
    { apt: undefined, ansible: undefined, charts: undefined },
    'Where these go. Default: `/var/lib/fleet-ferry/<apt, ansible or charts>/<deployment target>`.',
  ),
};

type Unplaced<T> = Omit<T, 'at'>;
type Placed<T> = { readonly value: T; readonly at: Place };

/** The parts as written, each validated separately. */
export const toContents = (spec: {
  readonly debs: readonly Placed<Unplaced<DebObject>>[];
  readonly collections: readonly Placed<Unplaced<ContentObject>>[];
  readonly roles: readonly Placed<Unplaced<RoleObject>>[];
  readonly charts: readonly Placed<Unplaced<ChartObject>>[];
  readonly folders: HostContentsObject['folders'];
  readonly install: Placed<Unplaced<InstallObject>> | undefined;
  readonly rauc: Placed<Unplaced<RaucObject>> | undefined;
}): HostContentsObject => ({
  debs: spec.debs.map((one) => ({ ...one.value, at: one.at })),
  collections: spec.collections.map((one) => ({ ...one.value, at: one.at })),
  roles: spec.roles.map((one) => ({ ...one.value, at: one.at })),
  charts: spec.charts.map((one) => ({ ...one.value, at: one.at })),
  folders: spec.folders,
  install: spec.install && { ...spec.install.value, at: spec.install.at },
  rauc: spec.rauc && { ...spec.rauc.value, at: spec.rauc.at },
});

/** File name of a chart on the host; undefined if it cannot be derived. */
export const chartFile = ({ chart, version, url, source }: Unplaced<ChartObject>): string | undefined => {
  if (chart !== undefined && version !== undefined) return `${posix.basename(chart)}-${version}.tgz`;
  if (url !== undefined) return posix.basename(new URL(url).pathname);
  return source === undefined ? undefined : posix.basename(source);
};
