import { findReference, layoutReference, openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn, sitesIn } from '#bundles/transport/publish/choose-pointers';
import { channelRepository } from '#bundles/transport/registry/references';
import type { Source } from './source.ts';
import { streamBlob } from './stream-blob.ts';

/** The OCI layout that `fleet-scheduler build` writes. @throws FleetError MEDIUM_MISSING, LAYOUT_INVALID */
export const openLayoutSource = async (directory: string): Promise<Source> => {
  const layout = await openLayout(directory);
  return {
    name: `layout ${directory}`,
    channels: async () => channelsIn(layout).map((name) => parseChannel(name)),
    sites: () => sitesIn(layout),
    unreleased: (channel) => {
      const has = (tag: string): boolean =>
        findReference(layout, layoutReference(channelRepository(channel), tag)) !== undefined;
      return has('waiting') ? 'held' : has('awaiting') ? 'awaiting' : undefined;
    },
    tags: async (repository) =>
      layout.manifests
        .map((descriptor) => referenceOf(descriptor) ?? '')
        .filter((reference) => reference.startsWith(`${repository}:`))
        .map((reference) => reference.slice(repository.length + 1)),
    resolve: async (repository, tag) => findReference(layout, layoutReference(repository, tag)),
    blobs: () => layout.blobs,
    stream: (_, digest, signal) => streamBlob(layout.blobs, digest, signal),
    [Symbol.asyncDispose]: async () => {},
  };
};
