import { open } from 'node:fs/promises';
import { compareBytes, type Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { findReference, type Layout, layoutReference, openLayout, referenceOf } from '#bundles/layout/layout';
import { missingBlob } from '#bundles/layout/verified';
import { type Channel, isName } from '#bundles/names';
import { giveBuffers, takeBuffers } from './buffer-pool.ts';
import { readViews } from './read-views.ts';
import type { Source } from './source.ts';

const RELEASE = /^([^/]+)\/([^/]+):release$/;

/** The OCI layout that `fleet-scheduler build` writes. @throws FleetError MEDIUM_MISSING, LAYOUT_INVALID */
export const openLayoutSource = async (directory: string): Promise<Source> => {
  const layout = await openLayout(directory);
  return {
    name: `layout ${directory}`,
    channels: async () =>
      layout.manifests
        .map((descriptor) => referenceOf(descriptor) ?? '')
        .toSorted(compareBytes)
        .flatMap((reference): Channel[] => {
          const [, environment, clusterType] = RELEASE.exec(reference) ?? [];
          return isName(environment) && isName(clusterType) ? [{ environment, clusterType }] : [];
        }),
    tags: async (repository) =>
      layout.manifests
        .map((descriptor) => referenceOf(descriptor) ?? '')
        .filter((reference) => reference.startsWith(`${repository}:`))
        .map((reference) => reference.slice(repository.length + 1)),
    resolve: async (repository, tag) => findReference(layout, layoutReference(repository, tag)),
    blobs: () => layout.blobs,
    stream: (_, digest, signal) => streamBlob(layout, digest, signal),
    [Symbol.asyncDispose]: async () => {},
  };
};

async function* streamBlob(
  { blobs }: Layout,
  digest: Digest,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const handle = await open(blobs.path(digest), 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw missingBlob(digest, blobs.name);
    throw toFleetError(error, `reading from ${blobs.name}`);
  });
  const buffers = takeBuffers();
  try {
    yield* readViews(handle, buffers, blobs.name, signal);
  } finally {
    giveBuffers(buffers);
    await handle.close();
  }
}
