import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeImages } from '../../../examples/make-images.ts';
import type { BuildOptions } from '../../../scheduler/build/build-options.ts';
import type { BuildOutcome } from '../../../scheduler/build/build-outcome.ts';
import { build } from '../../../scheduler/build/build.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { withoutChain } from './without-chain.ts';

/** A copy of the example company without its chain in a folder of its own, with keys and images, ready to be built. */
export type Company = {
  readonly folder: string;
  readonly edit: (file: string, change: (text: string) => string) => Promise<void>;
  readonly build: (options?: Partial<BuildOptions>) => Promise<BuildOutcome>;
};

export const NOW = new Date('2026-11-21T08:00:00Z');

const EXAMPLES = join(import.meta.dirname, '../../..', 'examples');

/** @param order 'shuffled' copies the files in another order, as another disk would list them */
export const makeCompany = async (
  folder: string,
  order: 'as-is' | 'shuffled' = 'as-is',
): Promise<Company> => {
  for (const part of ['platform', 'apps']) {
    if (order === 'as-is') await cp(join(EXAMPLES, part), join(folder, part), { recursive: true });
    else await copyBackwards(join(EXAMPLES, part), join(folder, part));
  }
  await withoutChain(join(folder, 'platform'));
  await makeImages(join(folder, 'images'));
  await initDevRoot(join(folder, 'keys'), 'halden', NOW);
  return {
    folder,
    edit: async (file, change) => {
      const path = join(folder, file);
      const text = await readFile(path, 'utf8').catch(() => '');
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, change(text));
    },
    build: async (options = {}) =>
      build({
        platform: join(folder, 'platform'),
        maps: [],
        cacheDirectory: join(folder, 'cache'),
        layout: join(folder, 'releases'),
        images: join(folder, 'images'),
        keys: await openKeyDirectory(join(folder, 'keys')),
        now: NOW,
        signal: new AbortController().signal,
        ...options,
      }),
  };
};

const copyBackwards = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true });
  const entries = await readdir(from, { withFileTypes: true });
  for (const entry of entries.toReversed()) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyBackwards(source, target);
    else await writeFile(target, await readFile(source));
  }
};

/** Channel to bundle digest: what determinism is about. */
export const digestsOf = (outcome: BuildOutcome): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    outcome.channels.map(({ environment, clusterType, bundle }) => [`${environment}/${clusterType}`, bundle]),
  );
