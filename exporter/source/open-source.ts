import { stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { type RegistryAccess, registryOptions } from '#bundles/transport/registry/registry-access';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { findReference, layoutReference, openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { channelsIn, sitesIn } from '#bundles/transport/publish/choose-pointers';
import { channelRepository } from '#bundles/transport/registry/references';
import { setRegistryFlags } from './v8-flags.ts';
import type { Source } from './source.ts';
import { streamBlob } from './stream-blob.ts';

const NO_ACCESS: RegistryAccess = { plainHttp: [], caFile: undefined, authFile: undefined, env: {} };

/** 'localhost:5000/fleet', 'registry.example/fleet': the part before the first slash has a port or a dot. */
const LIKE_A_REGISTRY = /^(?:[\w-]+:\d+|[\w-]+(?:\.[\w-]+)+(?::\d+)?)\//;

/**
 * A registry ('oci://host[:port]/prefix') or a layout directory.
 * @throws FleetError USAGE, MEDIUM_MISSING, LAYOUT_INVALID
 */
export const openSource = async (where: string, access: RegistryAccess = NO_ACCESS): Promise<Source> => {
  if (where.startsWith('oci://')) {
    // The HTTP client takes longer to load than a small layout to read.
    const { openRegistrySource } = await import('./registry-source.ts');
    setRegistryFlags();
    return openRegistrySource(where, registryOptions(access));
  }
  if (!/^[a-z]+:\/\//.test(where)) {
    if (LIKE_A_REGISTRY.test(where) && !(await exists(where)))
      throw new FleetError('USAGE', `there is no folder ${where}`, {
        hint: `If it is a registry, write oci://${where}`,
      });
    return openLayoutSource(where);
  }
  throw new FleetError('USAGE', `--from ${where} is an address, but not of a registry`, {
    hint: 'Give oci://host/prefix, or the folder that fleet-scheduler build wrote',
  });
};

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The OCI layout that `fleet-scheduler build` writes. @throws FleetError MEDIUM_MISSING, LAYOUT_INVALID */
const openLayoutSource = async (directory: string): Promise<Source> => {
  const layout = await openLayout(directory);
  // Pooled: the folder may be on a disk or a share that does not answer, and the process must still handle its signals.
  const blobs = openBlobDirectory(directory);
  return {
    name: `layout ${directory}`,
    channels: async () => channelsIn(layout).map((name) => parseChannel(name)),
    sites: () => sitesIn(layout),
    unreleased: (channel) => {
      const has = (tag: string): boolean =>
        findReference(layout, layoutReference(channelRepository(channel), tag)) !== undefined;
      if (has('waiting')) return 'held';
      return has('awaiting') ? 'awaiting' : undefined;
    },
    tags: async (repository) =>
      layout.manifests
        .map((descriptor) => referenceOf(descriptor) ?? '')
        .filter((reference) => reference.startsWith(`${repository}:`))
        .map((reference) => reference.slice(repository.length + 1)),
    resolve: async (repository, tag) => findReference(layout, layoutReference(repository, tag)),
    blobs: () => blobs,
    stream: (_, digest, signal) => streamBlob(blobs, digest, signal),
    [Symbol.asyncDispose]: async () => {},
  };
};
