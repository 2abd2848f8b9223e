import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Digest, isDigest } from '#bundles/digest';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';

/** Memory of the candidates that `promote --explain` showed this user last: a file in the cache, which may be lost. */
export type Explained = {
  /** The candidate that was shown for an environment of a layout; undefined: none, or it was promoted since. */
  readonly recall: (environment: string) => Promise<Digest | undefined>;
  readonly remember: (environment: string, candidate: Digest) => Promise<void>;
  readonly forget: (environment: string) => Promise<void>;
};

const FILE = 'explained.json';
/** Environments remembered over all layouts; the oldest are dropped. */
const MAX_ENTRIES = 256;

/** @param layout directory of the layout that the candidates are in */
export const openExplained = (cacheDirectory: string, layout: string): Explained => {
  const file = join(cacheDirectory, FILE);
  const keyOf = (environment: string): string => `${resolve(layout)} ${environment}`;
  const change = async (environment: string, candidate: Digest | undefined): Promise<void> => {
    const known = new Map(await readEntries(file));
    if (!known.delete(keyOf(environment)) && candidate === undefined) return;
    if (candidate !== undefined) known.set(keyOf(environment), candidate);
    const kept = Object.fromEntries([...known].slice(-MAX_ENTRIES));
    await writeFileAtomically(file, Buffer.from(`${JSON.stringify(kept)}\n`), 0o600);
  };
  return {
    recall: async (environment) => new Map(await readEntries(file)).get(keyOf(environment)),
    remember: change,
    forget: (environment) => change(environment, undefined),
  };
};

/** A file that is missing or damaged remembers nothing. */
const readEntries = async (file: string): Promise<readonly (readonly [string, Digest])[]> => {
  try {
    const read: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof read !== 'object' || read === null) return [];
    return Object.entries(read).flatMap(([key, value]) => (isDigest(value) ? [[key, value] as const] : []));
  } catch {
    return [];
  }
};
