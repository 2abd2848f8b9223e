import { isMap, isSeq } from 'yaml';
import { FleetError, toFleetError } from '#bundles/errors';
import { parseJson } from '#bundles/parse-json';
import type { Value } from '../../platform/model.ts';
import { endsRun } from '../../platform/problems.ts';
import { type ParsedDocument, parseDocuments, placeOf } from '../../platform/yaml/parse-documents.ts';
import { compileCustomSchema } from './compile-custom-schema.ts';
import type { Check } from './walk.ts';

/** A YAML file that may hold CustomResourceDefinitions. */
export type DefinitionFile = { readonly shown: string; readonly bytes: Buffer };

/** The kinds that CustomResourceDefinitions of a platform and its applications define. */
export type CustomKinds = {
  readonly of: (apiVersion: string, kind: string) => Check | undefined;
  /** 'group/version' of all versions of a kind that are served. */
  readonly versionsOf: (group: string, kind: string) => readonly string[];
  /** Files that hold none or a broken one. */
  readonly problems: readonly FleetError[];
};

/** Does the file say that it defines a kind? Cheap: most files are passed over by this. */
export const mayDefineKinds = (bytes: Buffer): boolean => bytes.includes('CustomResourceDefinition');

/** Definitions of the first file win. A schema is compiled when an object of its kind is first met. */
export const readCustomKinds = (files: Iterable<DefinitionFile>): CustomKinds => {
  const problems: FleetError[] = [];
  const schemas = new Map<string, Value | undefined>();
  const versions = new Map<string, string[]>();
  for (const { shown, bytes } of files) {
    if (!mayDefineKinds(bytes)) continue;
    // What is wrong with the YAML is told where the file is used as an object.
    for (const parsed of documentsIn(shown, bytes)) {
      if (parsed.document.get('kind') !== 'CustomResourceDefinition') continue;
      const definition = readDefinition(parsed, problems);
      for (const { version, schema } of definition?.versions ?? []) {
        const apiVersion = `${definition?.group}/${version}`;
        const key = `${apiVersion} ${definition?.kind}`;
        if (schemas.has(key)) continue;
        schemas.set(key, schema);
        const kind = `${definition?.group} ${definition?.kind}`;
        versions.set(kind, [...(versions.get(kind) ?? []), apiVersion]);
      }
    }
  }
  const compiled = new Map<string, Check>();
  return {
    problems,
    of: (apiVersion, kind) => {
      const key = `${apiVersion} ${kind}`;
      if (!schemas.has(key)) return undefined;
      const check = compiled.get(key) ?? compileCustomSchema(schemas.get(key), kind);
      compiled.set(key, check);
      return check;
    },
    versionsOf: (group, kind) => versions.get(`${group} ${kind}`) ?? [],
  };
};

/** None where the file cannot be read at all: its own package is refused for it then, and no other. */
const documentsIn = (shown: string, bytes: Buffer): readonly ParsedDocument[] => {
  try {
    return [...parseDocuments(shown, bytes, [])];
  } catch (error) {
    const known = toFleetError(error);
    if (endsRun(known)) throw known;
    return [];
  }
};

type Definition = {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly { readonly version: string; readonly schema: Value | undefined }[];
};

const readDefinition = (
  { document, text, root }: ParsedDocument,
  problems: FleetError[],
): Definition | undefined => {
  const group = document.getIn(['spec', 'group']);
  const kind = document.getIn(['spec', 'names', 'kind']);
  const versions = document.getIn(['spec', 'versions']);
  if (typeof group !== 'string' || typeof kind !== 'string' || !isSeq(versions)) {
    problems.push(
      new FleetError('OBJECT_INVALID', 'this CustomResourceDefinition has no group, kind or versions', {
        subject: `CustomResourceDefinition ${String(document.getIn(['metadata', 'name']))}`,
        at: placeOf(text, root),
        hint: 'It must be one of apiextensions.k8s.io/v1',
      }),
    );
    return undefined;
  }
  return {
    group,
    kind,
    versions: versions.items.filter(isMap).flatMap((version) => {
      if (version.get('served') === false) return [];
      const schema = version.getIn(['schema', 'openAPIV3Schema'], true);
      const plain = isMap(schema) ? toPlain(schema.toJS(document, { maxAliasCount: 1000 })) : undefined;
      return [{ version: String(version.get('name')), schema: plain }];
    }),
  };
};

/** Our reading has whole numbers as bigint, for which JSON has no word. */
const toPlain = (value: unknown): Value =>
  parseJson(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? Number(one) : one)),
  ) as Value;
