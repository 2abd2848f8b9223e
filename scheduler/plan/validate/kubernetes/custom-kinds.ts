import { isMap, isSeq } from 'yaml';
import { FleetError } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import type { Value } from '../../../model/model.ts';
import { mayDefineKinds } from '../../../model/kubernetes/may-define-kinds.ts';
import { toMistake } from '../../../model/problems.ts';
import { type ParsedDocument, parseDocuments, placeOf } from '../../../model/yaml/parse-documents.ts';
import { compileCustomSchema } from './compile-custom-schema.ts';
import type { Check } from './walk.ts';

/** A YAML file that may hold CustomResourceDefinitions. */
export type DefinitionFile = { readonly shown: string; readonly bytes: Buffer };

/** The kinds that the CustomResourceDefinitions of a platform and its applications define. */
export type CustomKinds = {
  readonly of: (apiVersion: string, kind: string) => Check | undefined;
  /** 'group/version' of every served version of a kind. */
  readonly versionsOf: (group: string, kind: string) => readonly string[];
  /** OBJECT_INVALID for incomplete definitions. */
  readonly problems: readonly FleetError[];
};

/** The first definition of a kind is used. A schema is compiled when an object of its kind is first checked. */
export const readCustomKinds = (files: Iterable<DefinitionFile>): CustomKinds => {
  const problems: FleetError[] = [];
  const schemas = new Map<string, Value | undefined>();
  const versions = new Map<string, string[]>();
  for (const { shown, bytes } of files) {
    if (!mayDefineKinds(bytes)) continue;
    // A YAML error is reported where the file is used as an object.
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

/** Empty for an unreadable file: only its own package is refused for that. */
const documentsIn = (shown: string, bytes: Buffer): readonly ParsedDocument[] => {
  try {
    return [...parseDocuments(shown, bytes, [])];
  } catch (error) {
    toMistake(error);
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

/** Whole numbers are parsed as bigint, which JSON cannot express. */
const toPlain = (value: unknown): Value =>
  parseJson(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? Number(one) : one)),
  ) as Value;
