import { createHash } from 'node:crypto';
import { type Digest, hexOf } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { KeptFiles } from './kept-files.ts';

/** Bundles of earlier runs, a file for each state of the inputs of a channel. */
export type KeptBundles = {
  /** @returns the result that was kept for these inputs */
  readonly find: (channel: Channel, inputs: Digest) => Promise<unknown>;
  readonly keep: (channel: Channel, inputs: Digest, result: unknown) => Promise<void>;
};

export const openKeptBundles = (files: KeptFiles): KeptBundles => ({
  find: async (channel, inputs) => {
    const content = await files.read(nameOf(channel, inputs));
    return content && (JSON.parse(content.toString('utf8')) as unknown);
  },
  keep: (channel, inputs, result) =>
    files.write(nameOf(channel, inputs), Buffer.from(JSON.stringify(result))),
});

const nameOf = (channel: Channel, inputs: Digest): string => {
  const key = createHash('sha256').update(formatChannel(channel)).digest('hex').slice(0, 16);
  return `${key}-${hexOf(inputs)}`;
};
