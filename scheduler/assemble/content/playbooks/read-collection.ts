import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Content } from '../content.ts';
import { broken } from '../debs/read-ar.ts';
import { walkArchive } from '../walk-archive.ts';

/** Identity of an Ansible collection from its MANIFEST.json. */
export type Collection = { readonly namespace: string; readonly name: string; readonly version: string };

const MANIFEST = new Set(['MANIFEST.json', './MANIFEST.json']);
const MAX_MANIFEST = 1 << 20;
/** ansible-galaxy writes it first. */
const MAX_ENTRIES = 64;
/** Maximum bytes before it, because gzip can expand a small file to terabytes. */
const MAX_BEFORE = 64 << 20;

/**
 * Reads the identity of a collection from its tarball. Only MANIFEST.json is read: ansible-galaxy checks all other files
 * against it. @throws FleetError CONTENT_INVALID for other content, for example the tarball of a repository
 */
export const readCollection = async (
  content: Content,
  signal: AbortSignal,
  mostBefore = MAX_BEFORE,
): Promise<Collection> => {
  const pieces: Buffer[] = [];
  const seen = { files: 0, bytes: 0, manifest: false };
  let fault: FleetError | undefined;
  await walkArchive(content, signal, {
    isWanted: (path, size) => {
      if (seen.manifest) return false;
      const wanted = MANIFEST.has(path);
      seen.files += 1;
      seen.bytes += wanted ? 0 : size;
      if (seen.files > MAX_ENTRIES || seen.bytes > mostBefore) fault ??= noManifest();
      if (wanted && size > MAX_MANIFEST)
        fault ??= broken(`its MANIFEST.json has more than ${MAX_MANIFEST} bytes`);
      return wanted && !fault;
    },
    onBytes: (piece) => pieces.push(piece),
    onEnd: () => (seen.manifest = true),
    isDone: () => seen.manifest || fault !== undefined,
  });
  if (fault || !seen.manifest) throw fault ?? noManifest();
  return parse(Buffer.concat(pieces));
};

const noManifest = (): FleetError =>
  broken(
    'it has no MANIFEST.json: ansible-galaxy collection build makes one, a repository’s own archive has none',
  );

const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const VERSION = /^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,64}$/;

const parse = (bytes: Buffer): Collection => {
  const { namespace, name, version } = infoIn(bytes);
  if (typeof namespace !== 'string' || !NAME.test(namespace))
    throw broken('its MANIFEST.json has no namespace');
  if (typeof name !== 'string' || !NAME.test(name)) throw broken('its MANIFEST.json has no name');
  if (typeof version !== 'string' || !VERSION.test(version)) throw broken('its MANIFEST.json has no version');
  return { namespace, name, version };
};

const infoIn = (bytes: Buffer): Readonly<Record<string, unknown>> => {
  try {
    const manifest = parseStrictJson(bytes, { maxBytes: MAX_MANIFEST }) as {
      readonly collection_info?: Readonly<Record<string, unknown>>;
    } | null;
    return manifest?.collection_info ?? {};
  } catch (cause) {
    throw new FleetError('CONTENT_INVALID', 'its MANIFEST.json is not JSON', { cause });
  }
};
