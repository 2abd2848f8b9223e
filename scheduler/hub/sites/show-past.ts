import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { readManifest } from '#bundles/formats/layout/read-manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { isFleetError } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import { openRemoteLayers } from '../../keys/remote/remote-key.ts';
import { type ListedRelease, listReleases } from '../../release/reissue/list-releases.ts';
import type { Hub } from '../hub.ts';
import { MAX_PAST, readHiddenNames } from './hidden-values.ts';

/**
 * Shows a signer process the releases that hid values which the newest of their channel does not: what the hub withholds from a decision because of them,
 * the signer accepts as withheld. Does nothing where the release key is on this machine, and for a signer that judges no values or is older.
 * @throws FleetError SIGNER_UNREACHABLE, PERMISSION; the codes of the layout
 */
export const showPast = async (
  { keys, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  channels: readonly Channel[],
): Promise<void> => {
  const socket = channels.length === 0 ? undefined : keys.signerOf('release');
  if (socket === undefined) return;
  const layout = await openOrStartLayout(directory);
  const hiding: ListedRelease[] = [];
  for (const channel of channels) {
    const known = new Set<string>();
    for (const one of (await listReleases(layout, channel, keys.roots)).slice(0, MAX_PAST)) {
      const names: string[] = [];
      for (const bundle of one.bundles) names.push(...(await readHiddenNames(layout, bundle)));
      if (!one.current && names.some((name) => !known.has(name))) hiding.push(one);
      for (const name of names) known.add(name);
    }
  }
  if (hiding.length === 0) return;
  const show = await openRemoteLayers(socket);
  for (const one of hiding) {
    try {
      const past = (await documentsOf(layout, one)).map((bytes) => bytes.toString('base64'));
      await show({ past });
    } catch (error) {
      // USAGE: it judges no values; SCHEMA: it is older. What it refuses concerns a decision that withholds a value, which it refuses then.
      if (isFleetError(error, 'USAGE') || isFleetError(error, 'SCHEMA')) return;
      if (!isFleetError(error, 'SIGNER_REFUSED')) throw error;
    }
  }
};

const documentsOf = async (
  layout: Layout,
  { release, bundles }: Pick<ListedRelease, 'release' | 'bundles'>,
): Promise<readonly Buffer[]> => {
  const documents = [...(await statementFiles(layout.blobs, release.documents, 'release'))];
  for (const bundle of bundles) {
    const bytes = await readManifest(layout.blobs, bundle);
    const { config } = parseImageManifest(bytes, 'the manifest of a bundle');
    documents.push(bytes, await readBlob(layout.blobs, config.digest, config.size));
  }
  return documents;
};
