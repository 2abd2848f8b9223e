import { isMap } from 'yaml';
import { documentsOf } from '../read/edit-documents.ts';
import { isYamlFile } from '../read/manifests.ts';

/** Whether a file has objects that only `generateName` names. No package can have one: each apply would make another. */
export const holdsNameless = (path: string, bytes: Buffer): boolean =>
  isYamlFile(path) && bytes.includes('generateName:') && withoutNameless(bytes) !== bytes;

/** The text of a file without those objects. */
export const withoutNameless = (bytes: Buffer): Buffer => {
  const documents = documentsOf(bytes);
  const kept = documents.filter(
    (document) =>
      !isMap(document.contents) ||
      document.getIn(['metadata', 'name']) !== undefined ||
      document.getIn(['metadata', 'generateName']) === undefined,
  );
  if (kept.length === documents.length) return bytes;
  return Buffer.from(kept.map((one) => one.toString({ lineWidth: 0 }).replace(/^---\n/, '')).join('---\n'));
};
