import { isMap, isScalar } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { didYouMean, nearestName } from '#bundles/nearest-name';
import type { Source } from '../sources/open-sources.ts';
import type { SourceFile } from '../sources/read-files.ts';
import { type ParsedDocument, parseDocuments, placeOf } from '../../model/yaml/parse-documents.ts';
import { BAD, childOf, type Reading } from '../../model/yaml/shape.ts';
import { isPlatformConfigMap, readConfigMap } from './config-map.ts';
import { FLEET_GROUP, FLEET_KINDS } from './fleet-kinds.ts';
import { KALYPSO_GROUP, KALYPSO_KINDS, type KindReader } from './kalypso-kinds.ts';
import type { PlatformObject } from './platform-object.ts';
import { unfoldDocument } from './unfold-document.ts';

const GROUPS: Readonly<Record<string, Readonly<Record<string, KindReader>>>> = {
  [KALYPSO_GROUP]: KALYPSO_KINDS,
  [FLEET_GROUP]: FLEET_KINDS,
};

/** A file that contains none of these has no platform object, and is not parsed. */
export const PLATFORM_OBJECT_HINT = /scheduler\.kalypso\.io|fleet-ferry|platform-config|azure-app-config/;

/** Platform YAML is written by hand; a longer file is a mistake or an attack. In bytes. */
const MAX_YAML = 4 << 20;

/**
 * Reads every platform object of a source strictly. Mistakes are added to `problems`.
 * @param others what to do with other documents: 'passed' ignores them, as among the manifests of a cluster; 'refused'
 * reports them where only platform objects are allowed, so that `kidn: Config` is noticed
 */
export const readObjects = (
  source: Pick<Source, 'prefix' | 'files'> & Partial<Source>,
  problems: FleetError[],
  others: 'passed' | 'refused' = 'passed',
): readonly PlatformObject[] => {
  const objects: PlatformObject[] = [];
  for (const file of source.files) {
    if (others === 'passed' && !file.changes && !PLATFORM_OBJECT_HINT.test(file.bytes.toString('latin1')))
      continue;
    const name = `${source.prefix}${file.path}`;
    if (file.bytes.length > MAX_YAML) {
      problems.push(
        new FleetError(
          'TOO_LARGE',
          `this YAML has ${file.bytes.length} bytes, at most ${MAX_YAML} are read`,
          {
            at: { file: name },
          },
        ),
      );
      continue;
    }
    const known = knownObjects(file, name, others, source.parsed);
    if (known.objects) {
      objects.push(...known.objects);
      continue;
    }
    const found: PlatformObject[] = [];
    const problemsBefore = problems.length;
    const onOther = others === 'refused' ? (at: Place) => foreignVersionError(at) : undefined;
    for (const document of parseDocuments(name, file.bytes, problems, onOther)) {
      const before = problems.length;
      const unfolded = onOther ? [document] : unfoldDocument(document, file, problems);
      const read = unfolded.flatMap((one) => readDocument(one, problems) ?? []);
      found.push(...read);
      if (read.length === 0 && problems.length === before && onOther)
        problems.push(onOther(placeOf(document.text, document.root)));
    }
    objects.push(...found);
    if (problems.length === problemsBefore) known.keep(found);
  }
  return objects;
};

type KnownObjects = {
  readonly objects: readonly PlatformObject[] | undefined;
  readonly keep: (objects: readonly PlatformObject[]) => void;
};

/**
 * Cache keyed by Buffer identity: a server keeps the same Buffer for an unchanged file. Only files without mistakes are
 * cached.
 */
const byBytes = new WeakMap<Buffer, Map<string, readonly PlatformObject[]>>();
const knownObjects = (
  { bytes, changes }: SourceFile,
  name: string,
  others: string,
  parsed: Source['parsed'],
): KnownObjects => {
  if (changes) return { objects: undefined, keep: () => {} };
  const read = byBytes.get(bytes) ?? new Map<string, readonly PlatformObject[]>();
  byBytes.set(bytes, read);
  const key = `${others} ${name}`;
  const inMemory = read.get(key);
  const objects = inMemory ?? (parsed?.find(key, bytes) as readonly PlatformObject[] | undefined);
  if (objects && !inMemory) read.set(key, objects);
  return {
    objects,
    keep: (found) => {
      read.set(key, found);
      parsed?.keep(key, bytes, found);
    },
  };
};

/** 'fleet-ferry/v1alpha1 has Fleet, ...; scheduler.kalypso.io/v1alpha1 has Environment, ...' */
const listKinds = (): string =>
  Object.entries(GROUPS)
    .map(([group, kinds]) => `${group}/v1alpha1 has ${Object.keys(kinds).join(', ')}`)
    .join('; ');

/** A hint for a misspelled kind: one of the same group, or else of the other group, with its apiVersion. */
const meantKind = (kind: string, group: string): string => {
  const own = didYouMean(kind, Object.keys(GROUPS[group] ?? {}));
  if (own !== undefined) return own;
  for (const [other, kinds] of Object.entries(GROUPS)) {
    const meant = nearestName(kind, Object.keys(kinds));
    if (meant !== undefined) return `Did you mean ${meant} of ${other}/v1alpha1? `;
  }
  return '';
};

const foreignVersionError = (at: Place): FleetError =>
  new FleetError('UNKNOWN_KIND', 'this is not an object of a platform', {
    at,
    hint: `Begin it with an apiVersion and a kind, or move it out of here. ${listKinds()}`,
  });

const readDocument = (parsed: ParsedDocument, problems: FleetError[]): PlatformObject | undefined => {
  const apiVersion = scalarText(parsed, 'apiVersion');
  const kind = scalarText(parsed, 'kind');
  if (apiVersion === undefined || kind === undefined) return undefined;
  const reader = readerFor(parsed, apiVersion, kind, problems);
  if (!reader) return undefined;
  const about = childOf(parsed.root, 'metadata');
  const name = isMap(about) ? childOf(about, 'name') : null;
  const subject = isScalar(name) ? `${kind} ${String(name.value)}` : kind;
  const reading: Reading = { parsed, subject, problems };
  const read = reader(reading, placeOf(parsed.text, parsed.root));
  return read === BAD ? undefined : read;
};

const readerFor = (
  parsed: ParsedDocument,
  apiVersion: string,
  kind: string,
  problems: FleetError[],
): KindReader | undefined => {
  if (apiVersion === 'v1' && kind === 'ConfigMap')
    return isPlatformConfigMap(parsed) ? readConfigMap : undefined;
  const [group = ''] = apiVersion.split('/');
  const kinds = GROUPS[group];
  if (!kinds) return undefined;
  const reader = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (reader && apiVersion === `${group}/v1alpha1`) return reader;
  const at = placeOf(parsed.text, childOf(parsed.root, reader ? 'apiVersion' : 'kind'), parsed.root);
  problems.push(
    reader
      ? new FleetError('UNKNOWN_KIND', `${kind} has no version ${JSON.stringify(apiVersion)}`, {
          at,
          hint: `Write ${group}/v1alpha1`,
        })
      : new FleetError(
          'UNKNOWN_KIND',
          `${group} has no kind ${JSON.stringify(kind)} that is written by hand`,
          {
            at,
            hint: `${meantKind(kind, group)}${listKinds()}`,
          },
        ),
  );
  return undefined;
};

const scalarText = (parsed: ParsedDocument, key: string): string | undefined => {
  const node = childOf(parsed.root, key);
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
};
