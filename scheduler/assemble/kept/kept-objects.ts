import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { type Digest, digestOf } from '#bundles/digest';
import type { ParsedFiles } from '../../load/sources/parsed-files.ts';
import { type KeptFiles, keptName } from './kept-files.ts';

/** The objects of a platform's files between runs, in one file. */
export type KeptObjects = {
  readonly parsed: ParsedFiles;
  /** Keeps the objects of the files that this run parsed or found, if they are not those of the run before. */
  readonly save: () => Promise<void>;
};

/** Objects of a file as V8 serializes them: they hold Maps, Sets and undefined fields. */
type Entry = { readonly digest: Digest; readonly content: Buffer };

/** @param about what the run reads: each platform and choice of environments has a file of its own */
export const openKeptObjects = async (files: KeptFiles, about: unknown): Promise<KeptObjects> => {
  const name = keptName('objects', about);
  const content = await files.read(name);
  const before = content ? (deserialize(content) as ReadonlyMap<string, Entry>) : new Map<string, Entry>();
  const now = new Map<string, Entry>();
  return {
    parsed: {
      find: (file, bytes) => {
        const entry = now.get(file) ?? before.get(file);
        if (entry?.digest !== digestOf(bytes)) return undefined;
        now.set(file, entry);
        return deserialize(entry.content);
      },
      keep: (file, bytes, parsed) => {
        const plain = asPlain(parsed);
        if (plain && !hasUrlWithUser(plain)) now.set(file, { digest: digestOf(bytes), content: plain });
      },
    },
    save: async () => {
      const isSame =
        now.size === before.size && [...now].every(([file, entry]) => before.get(file) === entry);
      if (!isSame) await files.write(name, serialize(now));
    },
  };
};

/** Undefined for data that would not be equal when it is read back, such as functions and instances of classes. */
const asPlain = (value: unknown): Buffer | undefined => {
  try {
    const content = serialize(value);
    return isDeepStrictEqual(deserialize(content), value) ? content : undefined;
  } catch {
    return undefined;
  }
};

/**
 * A user in a URL may be a password or a token, which no cache keeps. V8 writes a string as it is, after a quotation mark and its length;
 * beyond Latin-1 two bytes a character.
 */
export const hasUrlWithUser = (content: Buffer): boolean =>
  /:\/\/(?!git@)[^\s/"]*@/.test(content.toString('latin1').replaceAll('\0', ''));
