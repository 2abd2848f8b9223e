import { findReference, layoutReference, openLayout, referenceOf } from '#bundles/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/publish/choose-pointers';
import type { Source } from './source.ts';
import { streamBlob } from './stream-blob.ts';

/** The OCI layout that `fleet-scheduler build` writes. @throws FleetError MEDIUM_MISSING, LAYOUT_INVALID */
export const openLayoutSource = async (directory: string): Promise<Source> => {
  const layout = await openLayout(directory);
  return {
    name: `layout ${directory}`,
    channels: async () => channelsIn(layout).map((name) => parseChannel(name)),
    tags: async (repository) =>
      layout.manifests
        .map((descriptor) => referenceOf(descriptor) ?? '')
        .filter((reference) => reference.startsWith(`${repository}:`))
        .map((reference) => reference.slice(repository.length + 1)),
    resolve: async (repository, tag) => findReference(layout, layoutReference(repository, tag)),
    blobs: () => layout.blobs,
    stream: (_, digest, signal, buffers) => streamBlob(layout.blobs, digest, signal, buffers),
    [Symbol.asyncDispose]: async () => {},
  };
};
