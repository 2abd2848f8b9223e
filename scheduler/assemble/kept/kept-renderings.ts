import type { Digest } from '#bundles/digest';
import { type KeptFiles, keptName } from './kept-files.ts';

/**
 * Digests of the inputs (type-digests.ts) of cluster types whose packages were rendered without an error and define no kinds. A later run with the
 * same inputs can reuse their bundles without rendering the packages.
 */
export type KeptRenderings = {
  readonly has: (rendering: Digest) => boolean;
  readonly add: (rendering: Digest) => void;
  /** Keeps what this run added or found, if that is not what the run before kept. */
  readonly save: () => Promise<void>;
};

/** @param about what the run reads: each platform and choice of environments has a file of its own */
export const openKeptRenderings = async (files: KeptFiles, about: unknown): Promise<KeptRenderings> => {
  const name = keptName('renderings', about);
  const content = await files.read(name);
  const before = new Set(content ? (JSON.parse(content.toString('utf8')) as readonly Digest[]) : []);
  const now = new Set<Digest>();
  return {
    has: (rendering) => before.has(rendering),
    add: (rendering) => void now.add(rendering),
    save: async () => {
      if (now.size === before.size && now.isSubsetOf(before)) return;
      await files.write(name, Buffer.from(JSON.stringify([...now])));
    },
  };
};
