import type { Digest } from '#bundles/digest';
import type { FleetError, Place } from '#bundles/errors';
import { LABEL } from '#bundles/names';
import { SECRET_KEY } from '#bundles/trust/secrets/parse';
import { objectShape } from '../../load/objects/metadata.ts';
import { freeRecord } from '../../model/yaml/free-value.ts';
import { type ParsedDocument, parseDocuments } from '../../model/yaml/parse-documents.ts';
import {
  everyRule,
  has,
  hasEntries,
  hasText,
  implies,
  is,
  isTrue,
  keeping,
  not,
  oneRule,
  someRule,
} from '../../model/yaml/field-rules.ts';
import {
  BAD,
  childOf,
  count,
  fields,
  flag,
  list,
  name,
  narrowed,
  oneOf,
  optional,
  placed,
  type Reading,
  refuse,
  required,
  type Schema,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { contentSpec, type HostContentsObject, toContents } from './host-content-object.ts';
import { type PlaybookObject, playbook, toPlaybooks } from './host-playbook-object.ts';
import { SITE_INPUT_ABOUT } from '../../load/objects/site-input-fields.ts';
import type { SiteInputAbout } from '../../model/site-input.ts';
import { hostPath, mode, owned, sha256, webAddress } from '../../load/objects/host-fields.ts';

/**
 * `kind: HostPackage` as an application engineer writes it beside the files, or as a platform template renders it. Several
 * objects make one package: the namespace template may add a slice, the application its service.
 */

type Owned = { readonly path: string; readonly mode: string; readonly owner: string; readonly group: string };

export type HostDirectoryObject = Owned & { readonly at: Place };

export type HostFileObject = Owned & {
  /** Exactly one of the four sources is set. */
  readonly source: string | undefined;
  readonly content: string | undefined;
  readonly config: boolean;
  readonly url: string | undefined;
  /** SHA-256 of the content of `url`; default: the one in the lock file. */
  readonly sha256: Digest | undefined;
  readonly format: 'env' | 'json' | undefined;
  readonly at: Place;
};

export type HostUnitObject = {
  readonly name: string;
  readonly source: string | undefined;
  readonly content: string | undefined;
  readonly enabled: boolean;
  readonly active: boolean;
  readonly restartOn: readonly string[];
  readonly at: Place;
};

export type HostCheckObject = {
  readonly name: string;
  readonly type: 'unit' | 'exec' | 'http' | 'tcp' | 'file';
  readonly unit: string | undefined;
  readonly stableSeconds: number;
  readonly argv: readonly string[];
  readonly url: string | undefined;
  readonly status: number;
  readonly address: string | undefined;
  readonly path: string | undefined;
  readonly maxAgeSeconds: number;
  readonly timeoutSeconds: number;
  readonly at: Place;
};

/** A file below /run/: of a key of a sealed set, or of a file that SOPS encrypted. */
export type HostSecretObject = Owned & {
  readonly set: string | undefined;
  readonly key: string | undefined;
  readonly source: string | undefined;
  readonly at: Place;
};

export type SiteInputObject = SiteInputAbout & {
  readonly file: string;
  readonly pointer: string;
  readonly at: Place;
};

export type HostPackageObject = HostContentsObject & {
  readonly directories: readonly HostDirectoryObject[];
  readonly files: readonly HostFileObject[];
  readonly secrets: readonly HostSecretObject[];
  readonly units: readonly HostUnitObject[];
  readonly playbooks: readonly PlaybookObject[];
  readonly checks: readonly HostCheckObject[];
  readonly siteInputs: readonly SiteInputObject[];
};

/** Below /run, in memory until the next boot: a secret on a disk would remain readable after the machine is discarded. */
const secretPath = textLike(
  /^\/run\//,
  'is not below /run/, where nothing reaches a disk',
  'Write it like /run/fleet-agent/secrets/db-password, and let the unit read it there',
  { like: hostPath },
);

const setName = textLike(
  LABEL,
  'is not a name of a secret set',
  'Write a DNS label, as fleet-scheduler secrets set was given it',
);

const secretKey = textLike(SECRET_KEY, 'is not a key of a secret set', 'Use letters, digits, dots, - and _');

const unitName = textLike(
  /^[A-Za-z0-9:_.@-]{1,240}\.(service|timer|socket|path|target|slice)$/,
  'is not a unit name',
  'Write it like label-printer.service',
);

const pointer = textLike(/^\//, 'is not a JSON pointer', 'Write it like /LINE_NUMBER');

const SOURCE = 'File of the application, relative to this object.';

const fileFields = keeping(
  fields({
    ...owned,
    mode: optional(mode, '0644', 'Permissions, four octal digits in quotes.'),
    source: optional(text, undefined, SOURCE),
    content: optional(text, undefined, 'The text of the file.'),
    config: optional(flag, false, 'The file is the platform configuration of the assignment.'),
    url: optional(webAddress, undefined, 'Address that the build fetches it from, up to 64 GiB.'),
    sha256: optional(sha256, undefined, 'SHA-256 of what `url` names. Without it `images.lock.yaml` has it.'),
    format: optional(
      oneOf('env', 'json'),
      undefined,
      'Format of a file that takes site values. Not together with `url`.',
    ),
  }),
  [
    oneRule(has('source'), has('content'), has('url'), isTrue('config')),
    () => 'exactly one of source, content, config and url says where the bytes come from',
  ],
  [
    implies(has('sha256'), has('url')),
    ({ path }) => `the sha256 of ${path} belongs to a url, and there is none`,
  ],
  [
    not(has('format', 'url')),
    ({ path }) => [
      `${path} has a format, and what comes from a url takes no site values`,
      'Bring it as a source of the application, or leave the format out',
    ],
  ],
);

const file = narrowed(fileFields, {}, (it, node, _path, reading) =>
  /^\/etc\/containers\/systemd\/.*\.quadlets$/.test(it.path)
    ? refuse(
        reading,
        node,
        `Podman's systemd generator does not read ${it.path}: podman quadlet install splits such a file`,
        'Write each quadlet as a file of its own',
      )
    : it,
);

const needsSource = ({ path }: { readonly path: string }): readonly [string, string] => [
  `the secret ${path} needs set and key, or source alone`,
  'set and key name a sealed value of the site; source is a file that SOPS encrypted in its binary form',
];

const secret = keeping(
  fields({
    ...owned,
    path: required(secretPath, 'Path below `/run/`, so that no secret reaches a disk.'),
    mode: optional(mode, '0600', 'Permissions, four octal digits in quotes.'),
    set: optional(setName, undefined, 'Secret set of the site. Together with `key`.'),
    key: optional(secretKey, undefined, 'Key of that set.'),
    source: optional(text, undefined, 'File of the application that SOPS encrypted in its binary form.'),
  }),
  [someRule(has('set', 'key'), has('source')), needsSource],
  [not(has('set', 'source')), needsSource],
  [not(has('key', 'source')), needsSource],
);

const unitFields = keeping(
  fields({
    name: required(unitName, 'Name of the systemd unit with its suffix.'),
    source: optional(text, undefined, SOURCE),
    content: optional(
      text,
      undefined,
      'The text of the unit. Without `source` and `content` the host has it.',
    ),
    enabled: optional(flag, true, 'Started at boot.'),
    active: optional(flag, true, 'Running after the package was applied.'),
    restartOn: optional(
      list(hostPath),
      [],
      'Paths of the package whose change restarts the unit. Its own file always does.',
    ),
  }),
  [not(has('source', 'content')), () => 'either source or content says where the bytes come from'],
);

const unit = narrowed(unitFields, {}, (it, node, _path, reading) =>
  it.active && /@\.[a-z]+$/.test(it.name)
    ? refuse(
        reading,
        node,
        `${it.name} is a template, of which systemd runs instances only`,
        `Name an instance, such as ${it.name.replace('@.', '@1.')}, or set active: false`,
      )
    : it,
);

const tcpAddress = textLike(
  /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):[1-9][0-9]{0,4}$/,
  'is not an address with a port',
  'Write it like 127.0.0.1:1883',
);

const NEEDS: Readonly<Record<HostCheckObject['type'], 'unit' | 'argv' | 'url' | 'address' | 'path'>> = {
  unit: 'unit',
  exec: 'argv',
  http: 'url',
  tcp: 'address',
  file: 'path',
};

const check = keeping(
  fields(
    {
      name: required(text, 'Name of the check, for reports.'),
      type: required(
        oneOf('unit', 'exec', 'http', 'tcp', 'file'),
        'The check: a systemd `unit` is active, a program (`exec`) exits with 0, an `http` address answers, a `tcp` address accepts connections, or a `file` is new enough.',
      ),
      unit: optional(unitName, undefined, 'For `unit`: the systemd unit.'),
      stableSeconds: optional(count, 5, 'For `unit`: seconds that it must run without a restart.'),
      argv: optional(list(text), [], 'For `exec`: program and arguments.'),
      url: optional(text, undefined, 'For `http`: the address.'),
      status: optional(count, 200, 'For `http`: the expected status.'),
      address: optional(tcpAddress, undefined, 'For `tcp`: host and port.'),
      path: optional(hostPath, undefined, 'For `file`: the file.'),
      maxAgeSeconds: optional(count, 3600, 'For `file`: seconds since it was modified, at most.'),
      timeoutSeconds: optional(count, 10, 'For all but `unit`: seconds until the check fails.'),
    },
    { command: 'argv', args: 'argv', cmd: 'argv' },
  ),
  [
    everyRule(
      implies(is('type', 'unit'), has('unit')),
      implies(is('type', 'exec'), hasEntries('argv')),
      implies(is('type', 'tcp'), has('address')),
      implies(is('type', 'file'), has('path')),
      implies(is('type', 'http'), hasText('url')),
    ),
    ({ name, type }) => `check ${name} of type ${type} needs ${NEEDS[type]}`,
  ],
);

const directory = fields({
  ...owned,
  mode: optional(mode, '0755', 'Permissions, four octal digits in quotes.'),
});

const siteInput = fields({
  name: required(text, 'Name of the value in the site values.'),
  schema: required(freeRecord, 'JSON Schema of the value.'),
  ...SITE_INPUT_ABOUT,
  file: required(hostPath, 'File of the package, with a `format`, that the value goes to.'),
  pointer: required(pointer, 'JSON pointer to a field that the file has. In an env file `/<KEY>`.'),
});

const spec = fields({
  ...contentSpec,
  directories: optional(list(placed(directory)), [], 'Directories to create.'),
  files: optional(list(placed(file)), [], 'Files to write.'),
  secrets: optional(list(placed(secret)), [], 'Files in memory that hold secrets.'),
  units: optional(list(placed(unit)), [], 'systemd units to enable and start.'),
  playbooks: optional(list(placed(playbook)), [], 'Ansible playbooks that the agent runs on the host.'),
  checks: optional(list(placed(check)), [], 'Health checks after the package was applied.'),
  siteInputs: optional(list(placed(siteInput)), [], 'Values that only a site knows, and where they go.'),
});

const object = objectShape(name, spec);

export const hostPackageSchema = (): Schema => ({
  description:
    'Files, secrets, systemd units and contents for a host. Several in one application make one package.',
  ...object.schema,
});

/** True if the document is a HostPackage. */
const isHostPackage = (parsed: ParsedDocument): boolean => {
  const kind = childOf(parsed.root, 'kind') as { value?: unknown } | null;
  const apiVersion = childOf(parsed.root, 'apiVersion') as { value?: unknown } | null;
  return kind?.value === 'HostPackage' && apiVersion?.value === 'fleet-ferry/v1alpha1';
};

/**
 * Every HostPackage in a YAML file.
 * @throws FleetError YAML_SYNTAX, UNKNOWN_FIELD, FIELD_INVALID ... the first mistake, with its place
 */
export const readHostPackages = (shownFile: string, bytes: Buffer): readonly HostPackageObject[] => {
  const problems: FleetError[] = [];
  const read = parseDocuments(shownFile, bytes, problems)
    .filter(isHostPackage)
    .flatMap((parsed) => {
      const reading: Reading = { parsed, subject: 'HostPackage', problems };
      const value = object(parsed.root, '', reading);
      if (value === BAD) return [];
      const { directories, files, secrets, units, checks, siteInputs } = value.spec;
      return [
        {
          directories: directories.map(({ value: it, at }) => ({ ...it, at })),
          siteInputs: siteInputs.map(({ value: it, at }) => ({ ...it, at })),
          files: files.map(({ value: it, at }) => ({ ...it, at })),
          secrets: secrets.map(({ value: it, at }) => ({ ...it, at })),
          units: units.map(({ value: it, at }) => ({ ...it, at })),
          playbooks: toPlaybooks(value.spec.playbooks, reading),
          checks: checks.map(({ value: it, at }) => ({ ...it, at })),
          ...toContents(value.spec),
        },
      ];
    });
  const [first] = problems;
  if (first) throw first;
  return read;
};
