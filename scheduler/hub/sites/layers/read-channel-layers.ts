import { FleetError } from '#bundles/errors';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { type Channel, formatChannel } from '#bundles/names';
import type { Digest } from '#bundles/digest';
import { readDocuments } from '../../../load/releases/artifact.ts';
import { readStatement, withNewestStatement } from '../../../load/releases/newest-statement.ts';
import { bundlesOf, readRelease } from '../../../load/releases/read-release.ts';
import { siteLayersReference } from '../../../load/releases/references.ts';
import { decodeSiteLayers, type ReleasedLayers } from '../../../load/releases/site-layers-document.ts';
import { type ChannelLayers, channelLayers } from '../../../plan/validate/sites/channel-layers.ts';
import { toProblem } from '../../../model/problems.ts';
import type { Hub } from '../../hub.ts';

/** The layers of a channel, by the newest statement about its release. */
export type ReleasedChannelLayers = ChannelLayers & { readonly digest: Digest | undefined };

/**
 * Reads the layers of channels from the layout, by the statements that the bundle keys signed.
 * @returns `layers` by formatChannel, without channels that have no release; `faults` of channels that cannot be read
 */
export const readChannelLayers = async (
  { keys, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  channels: readonly Channel[],
): Promise<{
  readonly layers: ReadonlyMap<string, ReleasedChannelLayers>;
  readonly faults: readonly FleetError[];
}> => {
  const layout = await openOrStartLayout(directory);
  const documents = new Map<Digest, ReleasedLayers>();
  const found = new Map<string, ReleasedChannelLayers>();
  const faults: FleetError[] = [];
  const readOne = async (channel: Channel): Promise<void> => {
    const own = await readRelease(layout, channel, keys.roots);
    if (!own) return;
    const release = await withNewestStatement(layout, own);
    const configs: BundleConfig[] = [];
    let digest: Digest | undefined;
    for (const bundle of bundlesOf(release)) {
      configs.push((await readBundle(layout.blobs, bundle)).config);
      const said = await readStatement(layout, release, release.documents, bundle);
      digest ??= said?.siteLayers;
    }
    const released = digest && (documents.get(digest) ?? (await readLayers(layout, channel, digest)));
    if (released && digest) documents.set(digest, released);
    found.set(formatChannel(channel), { ...channelLayers(channel, configs, released), digest });
  };
  for (const channel of channels) {
    try {
      await readOne(channel);
    } catch (error) {
      faults.push(toProblem(error, `reading the layers of ${formatChannel(channel)}`));
    }
  }
  return { layers: found, faults };
};

const readLayers = async (
  layout: Layout,
  { environment }: Channel,
  digest: Digest,
): Promise<ReleasedLayers> => {
  const documents = await readDocuments(layout, siteLayersReference(environment, digest));
  const document = documents.find((one) => one.digest === digest);
  const what = `the layers for sites of ${environment}`;
  if (!document)
    throw new FleetError('MISSING_BLOB', `${what} are not in ${layout.directory}`, {
      hint: 'Run fleet-scheduler build, or restore the layout from a backup',
    });
  return decodeSiteLayers(await readBlob(layout.blobs, digest, document.size), what);
};
