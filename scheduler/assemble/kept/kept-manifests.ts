import { deserialize, serialize } from 'node:v8';
import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import type { ManifestCache, PreparedManifest, TextCache } from '../bundle/prepared-manifest.ts';
import { type KeptFiles, keptName } from './kept-files.ts';
import { hasUrlWithUser } from './kept-objects.ts';
import { fromPlainError, type PlainError, toPlainError } from './plain-error.ts';

/** Prepared manifests between runs, in one file: a bundle of which one value changed has the same manifests of applications. */
export type KeptManifests = {
  /**
   * A cache that also finds what earlier runs prepared; the same one for the same digest. The first call reads the file: a run that builds no bundle does not need it.
   * @param common digest of all inputs that the cache's own keys do not have
   */
  readonly cacheOf: (common: Digest) => Promise<ManifestCache>;
  /** Keeps what this run prepared, if that is new. */
  readonly save: () => Promise<void>;
};

/** By the digest of all inputs, the least recently used first: manifests as V8 serializes them. */
type Entries = Map<Digest, Buffer>;

/** About 20,000 manifests. */
const MAX_BYTES = 32 << 20;

/** @param about what the run reads: each platform and choice of environments has a file of its own */
export const openKeptManifests = (files: KeptFiles, about: unknown): KeptManifests => {
  const name = keptName('manifests', about);
  const caches = new Map<Digest, ManifestCache>();
  let entries: Promise<Entries> | undefined;
  let isNew = false;
  const read = async (): Promise<Entries> => {
    const content = await files.read(name);
    return content ? (deserialize(content) as Entries) : new Map();
  };
  return {
    cacheOf: async (common) => {
      const known = await (entries ??= read());
      const cache = caches.get(common) ?? cacheOver(common, known, () => (isNew = true));
      caches.set(common, cache);
      return cache;
    },
    save: async () => {
      const known = await entries;
      if (!known || !isNew) return;
      let bytes = 0;
      for (const { byteLength } of known.values()) bytes += byteLength;
      for (const [key, { byteLength }] of known) {
        if (bytes <= MAX_BYTES) break;
        known.delete(key);
        bytes -= byteLength;
      }
      await files.write(name, serialize(known));
    },
  };
};

const cacheOver = (common: Digest, entries: Entries, onNew: () => void): ManifestCache => {
  const known = new Map<string, TextCache>();
  return {
    get: (key) => {
      const texts = known.get(key) ?? textsOver(`${common}\0${key}`, entries, onNew);
      known.set(key, texts);
      return texts;
    },
    set: (key, texts) => known.set(key, texts),
  };
};

const textsOver = (key: string, entries: Entries, onNew: () => void): TextCache => {
  const known = new Map<string, PreparedManifest>();
  const nameOf = (text: string): Digest => digestOf(`${key}\0${text}`);
  const recall = (text: string): PreparedManifest | undefined => {
    const name = nameOf(text);
    const entry = entries.get(name);
    if (!entry) return undefined;
    entries.delete(name);
    entries.set(name, entry);
    const found = fromPlain(deserialize(entry) as Plain);
    known.set(text, found);
    return found;
  };
  return {
    get: (text) => known.get(text) ?? recall(text),
    set: (text, made) => {
      const entry = serialize(toPlain(made));
      // As of kept objects, the cache gets no passwords.
      if (!made.secrets?.plain.length && !hasUrlWithUser(entry)) {
        entries.set(nameOf(text), entry);
        onNew();
      }
      known.set(text, made);
    },
    get size() {
      return known.size;
    },
    clear: () => known.clear(),
  };
};

type Plain = Omit<PreparedManifest, 'objects' | 'suspects'> & {
  readonly objects: ReturnType<PreparedManifest['objects']>;
  readonly suspects: readonly PlainError[] | undefined;
};

const toPlain = ({ objects, suspects, ...others }: PreparedManifest): Plain => ({
  ...others,
  objects: objects(),
  suspects: suspects?.map(toPlainError),
});

const fromPlain = ({ objects, suspects, ...others }: Plain): PreparedManifest => ({
  ...others,
  objects: () => objects,
  ...defined({ suspects: suspects?.map(fromPlainError) }),
});
