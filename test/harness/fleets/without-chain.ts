import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes the chain and its policies from a copy of the example's platform, so that one build releases every environment. */
export const withoutChain = async (platform: string): Promise<void> => {
  const file = join(platform, 'fleet.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^ +promotedFrom: .*\n/gm, ''));
  await rm(join(platform, 'promotion'), { recursive: true });
};
