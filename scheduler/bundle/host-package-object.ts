import type { Digest } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import { isName } from '#bundles/names';
import { isSecretKey } from '#bundles/secrets/parse';
import type { Value } from '../platform/model.ts';
import { objectShape } from '../platform/objects/metadata.ts';
import { freeRecord } from '../platform/yaml/free-value.ts';
import { type ParsedDocument, parseDocuments } from '../platform/yaml/parse-documents.ts';
import {
  BAD,
  childOf,
  count,
  fields,
  flag,
  list,
  name,
  oneOf,
  optional,
  placed,
  type Reading,
  required,
  text,
} from '../platform/yaml/shape.ts';
import { contentSpec, type HostContentsObject, toContents } from './host-content-object.ts';
import { hostPath, mode, owned, refuseAt, sha256, textThat, webAddress } from './host-fields.ts';

/**
 * `kind: HostPackage` as an application engineer writes it beside the files, or as a platform template renders it. Several
 * of them make one package: the namespace template may bring a slice, the application its service.
 */

type Owned = { readonly path: string; readonly mode: string; readonly owner: string; readonly group: string };

export type HostDirectoryObject = Owned & { readonly at: Place };

export type HostFileObject = Owned & {
  /** Exactly one of the four says where the bytes come from. */
  readonly source: string | undefined;
  readonly content: string | undefined;
  readonly config: boolean;
  readonly url: string | undefined;
  /** Of what `url` names; without it the lock file says it. */
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
  readonly type: 'unit' | 'exec' | 'http';
  readonly unit: string | undefined;
  readonly stableSeconds: number;
  readonly argv: readonly string[];
  readonly url: string | undefined;
  readonly status: number;
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

export type SiteInputObject = {
  readonly name: string;
  readonly schema: { readonly [key: string]: Value };
  readonly file: string;
  readonly pointer: string;
  readonly at: Place;
};

export type HostPackageObject = HostContentsObject & {
  readonly directories: readonly HostDirectoryObject[];
  readonly files: readonly HostFileObject[];
  readonly secrets: readonly HostSecretObject[];
  readonly units: readonly HostUnitObject[];
  readonly checks: readonly HostCheckObject[];
  readonly siteInputs: readonly SiteInputObject[];
};

/** In memory, and gone at the next boot: a secret on a disk outlives the machine. */
const secretPath = textThat(
  (value) => value.startsWith('/run/'),
  'is not below /run/, where nothing reaches a disk',
  'Write it like /run/fleet-agent/secrets/db-password, and let the unit read it there',
  hostPath,
);

const setName = textThat(
  isName,
  'is no name of a secret set',
  'Write a DNS label, as fleet-scheduler secrets set was given it',
);

const secretKey = textThat(isSecretKey, 'is no key of a secret set', 'Use letters, digits, dots, - and _');

const unitName = textThat(
  (value) => /^[A-Za-z0-9:_.@-]{1,240}\.(service|timer|socket|path|target|slice)$/.test(value),
  'is no unit name',
  'Write it like label-printer.service',
);

const pointer = textThat(
  (value) => value.startsWith('/'),
  'is no JSON pointer',
  'Write it like /LINE_NUMBER',
);

const file = fields({
  ...owned,
  mode: optional(mode, '0644'),
  source: optional(text, undefined),
  content: optional(text, undefined),
  config: optional(flag, false),
  url: optional(webAddress, undefined),
  sha256: optional(sha256, undefined),
  format: optional(oneOf('env', 'json'), undefined),
});

const secret = fields({
  ...owned,
  path: required(secretPath),
  mode: optional(mode, '0600'),
  set: optional(setName, undefined),
  key: optional(secretKey, undefined),
  source: optional(text, undefined),
});

const unit = fields({
  name: required(unitName),
  source: optional(text, undefined),
  content: optional(text, undefined),
  enabled: optional(flag, true),
  active: optional(flag, true),
  restartOn: optional(list(hostPath), []),
});

const check = fields({
  name: required(text),
  type: required(oneOf('unit', 'exec', 'http')),
  unit: optional(unitName, undefined),
  stableSeconds: optional(count, 5),
  argv: optional(list(text), []),
  url: optional(text, undefined),
  status: optional(count, 200),
  timeoutSeconds: optional(count, 10),
});

const spec = fields({
  ...contentSpec,
  directories: optional(list(placed(fields({ ...owned, mode: optional(mode, '0755') }))), []),
  files: optional(list(placed(file)), []),
  secrets: optional(list(placed(secret)), []),
  units: optional(list(placed(unit)), []),
  checks: optional(list(placed(check)), []),
  siteInputs: optional(
    list(
      placed(
        fields({
          name: required(text),
          schema: required(freeRecord),
          file: required(hostPath),
          pointer: required(pointer),
        }),
      ),
    ),
    [],
  ),
});

const object = objectShape(name, spec);

/** Is this document a HostPackage? */
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
          files: files.map(({ value: it, at }) => checkFile({ ...it, at }, reading)),
          secrets: secrets.map(({ value: it, at }) => checkSecret({ ...it, at }, reading)),
          units: units.map(({ value: it, at }) => checkUnit({ ...it, at }, reading)),
          checks: checks.map(({ value: it, at }) => checkCheck({ ...it, at }, problems)),
          ...toContents(value.spec, reading),
        },
      ];
    });
  const [first] = problems;
  if (first) throw first;
  return read;
};

const checkFile = (it: HostFileObject, reading: Reading): HostFileObject => {
  const given = [it.source, it.content, it.url].filter((one) => one !== undefined).length + Number(it.config);
  if (given !== 1)
    refuseAt(reading, it.at, 'exactly one of source, content, config and url says where the bytes come from');
  if (it.sha256 !== undefined && it.url === undefined)
    refuseAt(reading, it.at, `the sha256 of ${it.path} belongs to a url, and there is none`);
  if (it.format !== undefined && it.url !== undefined)
    refuseAt(
      reading,
      it.at,
      `${it.path} has a format, and what comes from a url takes no site values`,
      'Bring it as a source of the application, or leave the format out',
    );
  return it;
};

/** One source of bytes at most: it may be a unit that the host has. */
const checkUnit = (it: HostUnitObject, reading: Reading): HostUnitObject => {
  if (it.source !== undefined && it.content !== undefined)
    refuseAt(reading, it.at, 'either source or content says where the bytes come from');
  return it;
};

const checkSecret = (it: HostSecretObject, reading: Reading): HostSecretObject => {
  const ofSet = it.set !== undefined && it.key !== undefined && it.source === undefined;
  const ofFile = it.source !== undefined && it.set === undefined && it.key === undefined;
  if (!ofSet && !ofFile) {
    refuseAt(
      reading,
      it.at,
      `the secret ${it.path} needs set and key, or source alone`,
      'set and key name a sealed value of the site; source is a file that SOPS encrypted in its binary form',
    );
  }
  return it;
};

const NEEDS: Readonly<Record<HostCheckObject['type'], 'unit' | 'argv' | 'url'>> = {
  unit: 'unit',
  exec: 'argv',
  http: 'url',
};

const checkCheck = (it: HostCheckObject, problems: FleetError[]): HostCheckObject => {
  const value = it[NEEDS[it.type]];
  if (value === undefined || value.length === 0) {
    problems.push(
      new FleetError('FIELD_INVALID', `check ${it.name} of type ${it.type} needs ${NEEDS[it.type]}`, {
        at: it.at,
      }),
    );
  }
  return it;
};
