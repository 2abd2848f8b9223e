import { FleetError } from '#bundles/errors';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { readManifest } from '#bundles/formats/layout/read-manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { type Digest, shortDigest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import {
  readStatement,
  type StatedRelease,
  withNewestStatement,
} from '../../load/releases/newest-statement.ts';
import { bundlesOf } from '../../load/releases/read-release.ts';
import { readReleaseConfigs } from '../../load/releases/read-release-configs.ts';
import { readOnce } from '../../load/releases/read-once.ts';
import { readLayersFile, readSiteLayers } from '../../load/releases/read-site-layers.ts';
import { type ChannelLayers, channelLayers } from '../../plan/validate/sites/channel-layers.ts';
import { toProblem } from '../../model/problems.ts';
import type { Hub } from '../hub.ts';

/** The layers of a channel, by the newest statement about its release. */
export type ReleasedChannelLayers = ChannelLayers & {
  readonly digest: Digest | undefined;
  /** Sources of the release, and when it was built; undefined without a bundle. */
  readonly stated: Pick<BundlePredicate, 'sources' | 'builtAt'> | undefined;
  /** Number of the release. */
  readonly release: number;
  /** The newest statement about each of its bundles. */
  readonly statements: readonly { readonly bundle: Digest; readonly builtAt: Timestamp }[];
  /** Documents from which a signer process composes the values again. */
  readonly readEvidence: () => Promise<LayersEvidence>;
};

/** Signature files of the release and of its bundles' statements, manifest and configuration of each bundle; and the layers. */
export type LayersEvidence = { readonly documents: readonly Buffer[]; readonly layers: Buffer | undefined };

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
  const found = new Map<string, ReleasedChannelLayers>();
  const faults: FleetError[] = [];
  const readOne = async (channel: Channel): Promise<ReleasedChannelLayers | undefined> => {
    const own = await readReleaseConfigs(layout, channel, keys.roots);
    if (!own) return undefined;
    const release = await withNewestStatement(layout, own.release);
    const statements: ReleasedChannelLayers['statements'][number][] = [];
    let digest: Digest | undefined;
    let stated: BundlePredicate | undefined;
    for (const bundle of bundlesOf(release)) {
      const said = await readStatement(layout, release, release.documents, bundle);
      // Without it nobody knows the layers: it was removed, and the values of its sites would go with it.
      if (!said)
        throw new FleetError(
          'BUNDLE_UNSIGNED',
          `the layout has no signed statement of bundle ${shortDigest(bundle)}`,
          {
            subject: bundle,
            hint: 'Restore the layout from a backup, or build again',
          },
        );
      statements.push({ bundle, builtAt: said.builtAt });
      digest ??= said.siteLayers;
      stated ??= said;
    }
    const released = digest && (await readSiteLayers(layout, channel, digest));
    return {
      ...channelLayers(channel, own.configs, released),
      digest,
      release: release.predicate.version,
      statements,
      stated,
      readEvidence: () => readEvidence(layout, release, digest),
    };
  };
  for (const channel of channels) {
    try {
      const repository = channelRepository(channel);
      const one = await readOnce({ layout, roots: keys.roots, repository, what: 'layers' }, () =>
        readOne(channel),
      );
      if (one) found.set(formatChannel(channel), one);
    } catch (error) {
      faults.push(toProblem(error, `reading the layers of ${formatChannel(channel)}`));
    }
  }
  return { layers: found, faults };
};

const readEvidence = async (
  layout: Layout,
  release: StatedRelease,
  layers: Digest | undefined,
): Promise<LayersEvidence> => {
  const documents = [...(await statementFiles(layout.blobs, release.documents, 'release'))];
  for (const bundle of bundlesOf(release)) {
    const bytes = await readManifest(layout.blobs, bundle);
    const { config } = parseImageManifest(bytes, 'the manifest of a bundle');
    documents.push(...(await statementFiles(layout.blobs, release.documents, 'bundle', bundle)));
    documents.push(bytes, await readBlob(layout.blobs, config.digest, config.size));
  }
  const { environment } = release.predicate.audience;
  return { documents, layers: layers && (await readLayersFile(layout, environment, layers)) };
};
