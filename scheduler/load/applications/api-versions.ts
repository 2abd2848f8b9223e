import { isMap, isSeq } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { mayDefineKinds } from '../../model/kubernetes/may-define-kinds.ts';
import { parseDocuments } from '../../model/yaml/parse-documents.ts';

/**
 * Entries of `.Capabilities.APIVersions` for the CustomResourceDefinitions in these files, sorted: 'group/version' and 'group/version/Kind'
 * of each version that is served. Files that are no YAML, such as templates, are skipped.
 */
export const apiVersionsIn = (files: Iterable<Buffer | string>): readonly string[] => {
  const found = new Set<string>();
  for (const content of files)
    if (mayDefineKinds(content)) for (const version of versionsOf(content)) found.add(version);
  return [...found].toSorted(compareBytes);
};

/** Parsed once: many cluster types have the same files. Only for buffers, which stay the same objects. */
const known = new WeakMap<Buffer, readonly string[]>();

const versionsOf = (content: Buffer | string): readonly string[] => {
  if (typeof content === 'string') return readVersions(content);
  const versions = known.get(content) ?? readVersions(content);
  known.set(content, versions);
  return versions;
};

const readVersions = (content: Buffer | string): readonly string[] =>
  parseDocuments('', content, []).flatMap(({ document }) => {
    if (document.get('kind') !== 'CustomResourceDefinition') return [];
    const group = document.getIn(['spec', 'group']);
    const kind = document.getIn(['spec', 'names', 'kind']);
    const versions = document.getIn(['spec', 'versions']);
    if (typeof group !== 'string' || typeof kind !== 'string' || !isSeq(versions)) return [];
    return versions.items
      .filter(isMap)
      .filter((version) => version.get('served') !== false)
      .flatMap((version) => {
        const name = `${group}/${String(version.get('name'))}`;
        return [name, `${name}/${kind}`];
      });
  });
