import { isMap, parseAllDocuments } from 'yaml';
import { isYamlFile } from '../read/manifests.ts';

/** Whether a file has objects that only `generateName` names. No package can have one: each apply would make another. */
export const holdsNameless = (path: string, bytes: Buffer): boolean =>
  isYamlFile(path) && bytes.includes('generateName:') && withoutNameless(bytes) !== bytes;

/** The text of a file without those objects. */
export const withoutNameless = (bytes: Buffer): Buffer => {
  const documents = parseAllDocuments(bytes.toString('utf8'), { prettyErrors: false, logLevel: 'error' });
  if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0)) return bytes;
  const kept = documents.filter(
    (document) =>
      !isMap(document.contents) ||
      document.getIn(['metadata', 'name']) !== undefined ||
      document.getIn(['metadata', 'generateName']) === undefined,
  );
  if (kept.length === documents.length) return bytes;
  return Buffer.from(kept.map((one) => one.toString({ lineWidth: 0 }).replace(/^---\n/, '')).join('---\n'));
};
