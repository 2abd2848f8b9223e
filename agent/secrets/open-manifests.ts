import { type Document, isMap, parseAllDocuments } from 'yaml';
import { FleetError, isFleetError } from '#bundles/errors';
import { isManifest } from '#bundles/formats/bundle/is-manifest';
import { writeExactJson } from '#bundles/json/exact-json';
import { isRecord } from '#bundles/is-record';
import { MAX_ALIASES, YAML_OPTIONS } from '#bundles/formats/bundle/parse-manifests';
import { openDocument } from './sops-document.ts';
import { readSopsMetadata } from './sops-metadata.ts';

/** Opens the age identity if anything is encrypted. @throws FleetError SECRET_UNREADABLE without an identity */
export type Identity = () => Promise<string>;

export type OpenedManifests = {
  readonly files: ReadonlyMap<string, Buffer>;
  /** Files that held an encrypted document. */
  readonly decrypted: ReadonlySet<string>;
};

/**
 * Decrypts the SOPS documents of a Kubernetes package, in memory only. Documents keep their index in the file, which site
 * inputs refer to. An encrypted document without a namespace gets the namespace of its assignment, because the scheduler cannot
 * add it (docs/bundle-format.md section 16).
 * @throws FleetError SECRET_UNREADABLE with file and document
 */
export const openManifests = async (
  files: ReadonlyMap<string, Buffer>,
  namespace: string | undefined,
  identity: Identity,
): Promise<OpenedManifests> => {
  const opened = new Map(files);
  const decrypted = new Set<string>();
  for (const [path, bytes] of files) {
    // Skips files without SOPS documents, because parsing YAML is slow.
    if (!isManifest(path) || !bytes.includes('ENC[') || !bytes.includes('sops')) continue;
    const plain = await openFile(path, bytes.toString('utf8'), namespace, identity);
    if (plain === undefined) continue;
    opened.set(path, Buffer.from(plain));
    decrypted.add(path);
  }
  return { files: opened, decrypted };
};

/** The documents of a file as JSON, which is unambiguous YAML; undefined if none is encrypted or the file is invalid. */
const openFile = async (
  path: string,
  text: string,
  namespace: string | undefined,
  identity: Identity,
): Promise<string | undefined> => {
  const documents = parse(text);
  if (!documents.every(isReadable)) return undefined;
  const found: string[] = [];
  let any = false;
  for (const [index, document] of documents.entries()) {
    const place = index === 0 ? path : `${path} (document ${index + 1})`;
    try {
      const metadata = isMap(document.contents) ? readSopsMetadata(toPlain(document)) : undefined;
      if (metadata) {
        any = true;
        await openDocument(document, metadata, await identity());
      }
      const value = toPlain(document);
      found.push(writeExactJson(metadata ? placed(value, namespace) : value));
    } catch (cause) {
      if (!isFleetError(cause, 'SECRET_UNREADABLE')) throw cause;
      throw new FleetError('SECRET_UNREADABLE', `${place} cannot be decrypted: ${cause.message}`, {
        at: { file: path },
        hint:
          cause.hint ?? 'Encrypt it with SOPS to the recipients of this site as well, and release it again',
      });
    }
  }
  return any ? found.join('\n---\n') : undefined;
};

/** A parse error is reported by the next reader of the package. */
const parse = (text: string): readonly Document[] => {
  try {
    const parsed = parseAllDocuments(text, YAML_OPTIONS);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
};

/** True for a document without errors whose aliases can be resolved. */
const isReadable = (document: Document): boolean => {
  if (document.errors.length > 0) return false;
  try {
    toPlain(document);
    return true;
  } catch {
    return false;
  }
};

const toPlain = (document: Document): unknown => document.toJS({ maxAliasCount: MAX_ALIASES });

const placed = (value: unknown, namespace: string | undefined): unknown => {
  if (!isRecord(value) || namespace === undefined) return value;
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {};
  const own = metadata['namespace'];
  return typeof own === 'string' && own !== '' ? value : { ...value, metadata: { ...metadata, namespace } };
};
