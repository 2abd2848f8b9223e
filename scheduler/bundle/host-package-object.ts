import { isSafeHostPath } from '#bundles/bundle/host-package';
import { FleetError, type Place } from '#bundles/errors';
import type { Value } from '../platform/model.ts';
import { objectShape } from '../platform/objects/metadata.ts';
import { freeRecord } from '../platform/yaml/free-value.ts';
import { type ParsedDocument, parseDocuments, placeOf } from '../platform/yaml/parse-documents.ts';
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
  refuse,
  required,
  type Shape,
  text,
} from '../platform/yaml/shape.ts';

/**
 * `kind: HostPackage` as an application engineer writes it beside the files, or as a platform template renders it. Several
 * of them make one package: the namespace template may bring a slice, the application its service.
 */

type Owned = { readonly path: string; readonly mode: string; readonly owner: string; readonly group: string };

export type HostDirectoryObject = Owned & { readonly at: Place };

export type HostFileObject = Owned & {
  /** Exactly one of the three says where the bytes come from. */
  readonly source: string | undefined;
  readonly content: string | undefined;
  readonly config: boolean;
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
};

export type SiteInputObject = {
  readonly name: string;
  readonly schema: { readonly [key: string]: Value };
  readonly file: string;
  readonly pointer: string;
  readonly at: Place;
};

export type HostPackageObject = {
  readonly directories: readonly HostDirectoryObject[];
  readonly files: readonly HostFileObject[];
  readonly units: readonly HostUnitObject[];
  readonly checks: readonly HostCheckObject[];
  readonly siteInputs: readonly SiteInputObject[];
};

const hostPath: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || isSafeHostPath(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no absolute path on a host`,
    'Write it like /etc/app/app.conf, without . and ..',
  );
};

const mode: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || /^0[0-7]{3}$/.test(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no file mode`,
    'Write four octal digits in quotes, like "0640"',
  );
};

const unitName: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || /^[A-Za-z0-9:_.@-]{1,240}\.(service|timer|socket|path|target|slice)$/.test(value))
    return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no unit name`,
    'Write it like label-printer.service',
  );
};

const pointer: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || value.startsWith('/')) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no JSON pointer`,
    'Write it like /LINE_NUMBER',
  );
};

const account: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || /^[a-z_][a-z0-9_-]{0,31}$/.test(value)) return value;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value)} is no name of a user or group`,
    'Write a name, not a number, like root or www-data',
  );
};

const owned = {
  path: required(hostPath),
  owner: optional(account, 'root'),
  group: optional(account, 'root'),
};

const file = fields({
  ...owned,
  mode: optional(mode, '0644'),
  source: optional(text, undefined),
  content: optional(text, undefined),
  config: optional(flag, false),
  format: optional(oneOf('env', 'json'), undefined),
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
  directories: optional(list(placed(fields({ ...owned, mode: optional(mode, '0755') }))), []),
  files: optional(list(placed(file)), []),
  units: optional(list(placed(unit)), []),
  checks: optional(list(check), []),
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
      const { directories, files, units, checks, siteInputs } = value.spec;
      return [
        {
          directories: directories.map(({ value: it, at }) => ({ ...it, at })),
          siteInputs: siteInputs.map(({ value: it, at }) => ({ ...it, at })),
          files: files.map(({ value: it, at }) => checkContent({ ...it, at }, it.config, reading)),
          units: units.map(({ value: it, at }) => checkContent({ ...it, at }, false, reading)),
          checks: checks.map((it) => checkCheck(it, parsed, problems)),
        },
      ];
    });
  const [first] = problems;
  if (first) throw first;
  return read;
};

/** A file has one source of bytes; a unit may have none when the host brings it. */
const checkContent = <
  T extends { readonly source: string | undefined; readonly content: string | undefined; readonly at: Place },
>(
  it: T,
  config: boolean,
  reading: Reading,
): T => {
  const given = [it.source !== undefined, it.content !== undefined, config].filter(Boolean).length;
  const needed = 'path' in it ? given !== 1 : given > 1;
  if (needed) {
    reading.problems.push(
      new FleetError(
        'FIELD_INVALID',
        'exactly one of source, content and config says where the bytes come from',
        {
          subject: reading.subject,
          at: it.at,
        },
      ),
    );
  }
  return it;
};

const NEEDS: Readonly<Record<HostCheckObject['type'], 'unit' | 'argv' | 'url'>> = {
  unit: 'unit',
  exec: 'argv',
  http: 'url',
};

const checkCheck = (it: HostCheckObject, parsed: ParsedDocument, problems: FleetError[]): HostCheckObject => {
  const value = it[NEEDS[it.type]];
  if (value === undefined || value.length === 0) {
    problems.push(
      new FleetError('FIELD_INVALID', `check ${it.name} of type ${it.type} needs ${NEEDS[it.type]}`, {
        at: placeOf(parsed.text, parsed.root),
      }),
    );
  }
  return it;
};
