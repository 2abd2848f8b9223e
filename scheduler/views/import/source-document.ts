import { Document } from 'yaml';
import type { FleetError } from '#bundles/errors';
import type { Part } from '../../load/platform/combine-sources.ts';
import { objectKey } from '../../load/platform/check-clashes.ts';
import type { PlatformObject } from '../../load/objects/platform-object.ts';
import { unfoldDocument } from '../../load/objects/unfold-document.ts';
import { parseDocuments, placeOf } from '../../model/yaml/parse-documents.ts';

/** One object of a repository with its original text, comments included. */
export type SourceDocument = {
  readonly key: string;
  readonly object: PlatformObject;
  /** Relative to the folder that the repository delivers. */
  readonly path: string;
  /** Without `---`. Ends with a line feed, unless it is the last one of a file without a final line feed. */
  readonly text: string;
};

/** Every object of a part with its own lines; other documents are skipped. */
export const documentsOf = (part: Part): readonly SourceDocument[] => {
  const byPlace = new Map(part.objects.map((object) => [placeKey(object.at), object]));
  const passed: FleetError[] = [];
  return part.source.files.flatMap((file) => {
    const name = `${part.source.prefix}${file.path}`;
    if (!part.objects.some(({ at }) => at.file === name)) return [];
    // Files that a kustomization includes from outside of the folder are added.
    const path = file.path.replace(/^(?:\.\.\/)+/, '');
    return parseDocuments(name, file.bytes, passed).flatMap((parsed) =>
      unfoldDocument(parsed, file, passed).flatMap(({ root, document, text }) => {
        const object = byPlace.get(placeKey(placeOf(text, root)));
        const [from, , to] = document.range ?? [0, 0, 0];
        if (!object) return [];
        const isAsWritten = root === parsed.root && file.changes === undefined;
        const own = isAsWritten ? linesOf(text.text, from, to) : String(new Document(root));
        return [{ key: objectKey(object), object, path, text: own }];
      }),
    );
  });
};

/**
 * Starts after the preceding `---`, so that comments above the object are included; exact to the byte, because block scalars
 * may end at the end of the file.
 */
const linesOf = (text: string, from: number, to: number): string =>
  text
    .slice(from, to)
    .replace(/^---[^\n]*\n/, '')
    .replace(/\n(?:---|\.\.\.)[^\n]*\n?$/, '\n');

const placeKey = ({ file, line, column }: PlatformObject['at']): string =>
  `${file}\0${line ?? 0}\0${column ?? 0}`;
