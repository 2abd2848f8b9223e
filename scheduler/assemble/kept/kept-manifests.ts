import { deserialize, serialize } from 'node:v8';
import { defined } from '#bundles/defined';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import type { ManifestCache, PreparedManifest } from '../bundle/prepared-manifest.ts';
import type { KeptFiles } from './kept-files.ts';
import { hasUrlWithUser } from './kept-objects.ts';
import { fromPlainError, type PlainError, toPlainError } from './plain-error.ts';

/** Prepared manifests between runs, in one file: a bundle of which one value changed has the same manifests of applications. */
export type KeptManifests = {
  /**
   * A cache that also finds what earlier runs prepared. The file is read by the first call: a run that builds no bundle does not need it.
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
  const name = `manifests-${hexOf(digestOf(JSON.stringify(about)))}`;
  let entries: Promise<Entries> | undefined;
  let isNew = false;
  const read = async (): Promise<Entries> => {
    const content = await files.read(name);
    return content ? (deserialize(content) as Entries) : new Map();
  };
  return {
    cacheOf: async (common) => {
      const known = await (entries ??= read());
      return new CacheOf(common, known, () => (isNew = true));
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

class CacheOf extends Map<string, Map<string, PreparedManifest>> implements ManifestCache {
  readonly #textsOf: (key: string) => Texts;

  constructor(common: Digest, entries: Entries, onNew: () => void) {
    super();
    this.#textsOf = (key) => new Texts(`${common}\0${key}`, entries, onNew);
  }

  override get(key: string): Texts {
    const known = super.get(key) as Texts | undefined;
    const texts = known ?? this.#textsOf(key);
    if (!known) this.set(key, texts);
    return texts;
  }
}

class Texts extends Map<string, PreparedManifest> {
  readonly #key: string;
  readonly #entries: Entries;
  readonly #onNew: () => void;

  constructor(key: string, entries: Entries, onNew: () => void) {
    super();
    this.#key = key;
    this.#entries = entries;
    this.#onNew = onNew;
  }

  override get(text: string): PreparedManifest | undefined {
    const known = super.get(text);
    if (known) return known;
    const digest = digestOf(`${this.#key}\0${text}`);
    const entry = this.#entries.get(digest);
    if (!entry) return undefined;
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    const found = fromPlain(deserialize(entry) as Plain);
    super.set(text, found);
    return found;
  }

  override set(text: string, made: PreparedManifest): this {
    const entry = serialize(toPlain(made));
    // As of kept objects, the cache gets no passwords.
    if (!made.secrets?.plain.length && !hasUrlWithUser(entry)) {
      this.#entries.set(digestOf(`${this.#key}\0${text}`), entry);
      this.#onNew();
    }
    return super.set(text, made);
  }
}

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
