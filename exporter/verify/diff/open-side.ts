import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, isFleetError } from '#bundles/errors';
import { ofRole } from '#bundles/formats/layout/of-role';
import { MEDIUM_FILE, type OpenMedium, type OpenOptions, PARTS_FILE } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { readPatch } from '#bundles/formats/medium/read-patch';
import { formatChannel, parseChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { RegistryAccess } from '#bundles/transport/registry/registry-access';
import { exists, openSource } from '../../source/open-source.ts';
import { readOffer } from '../../source/read-offer.ts';
import type { Source } from '../../source/source.ts';
import type { Side } from './side.ts';

export type SideOptions = {
  readonly open: OpenOptions;
  readonly access: RegistryAccess;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

/** Opens a medium, whose content is not verified, or a source, whose releases are. */
export type OpenedSide =
  | { readonly kind: 'medium'; readonly side: Side }
  | { readonly kind: 'source'; readonly source: Source };

/** @param where one location, or the volumes of a set @throws FleetError MEDIUM_EMPTY, and the codes of openMedium and openSource */
export const openPlace = async (where: string, { open, access }: SideOptions): Promise<OpenedSide> => {
  if (where.startsWith('oci://') || (await isLayout(where)))
    return { kind: 'source', source: await openSource(where, access) };
  const medium = await openMedium(await volumesOf(where), open);
  if (medium.medium) return { kind: 'medium', side: sideOf(medium) };
  await medium[Symbol.asyncDispose]();
  throw new FleetError('MEDIUM_EMPTY', `nothing was written to the medium ${where} yet`, {
    hint: 'To compare with what a site reported, add --site',
  });
};

/** Volumes of a set are separated by commas, as in messages; a path may contain a comma itself. */
const volumesOf = async (where: string): Promise<readonly string[]> =>
  where.includes(',') && !(await exists(where)) ? where.split(',').filter((path) => path !== '') : [where];

/** Tells a medium from a plain layout. */
const isLayout = async (path: string): Promise<boolean> => {
  const there = (file: string): Promise<boolean> =>
    stat(join(path, file)).then(
      (found) => found.isFile(),
      () => false,
    );
  return (await there('index.json')) && !(await there(MEDIUM_FILE)) && !(await there(PARTS_FILE));
};

/** Opens a medium and verifies only the digests of blobs that are read. */
const sideOf = (open: OpenMedium): Side => {
  const { documents = [], bundles = [], deltas = [] } = open.medium ?? {};
  return {
    name: open.path,
    releases: new Map(
      ofRole(documents, 'release').flatMap(({ environment, clusterType, version }) =>
        environment === undefined || clusterType === undefined
          ? []
          : [[formatChannel({ environment, clusterType }), version] as const],
      ),
    ),
    bundles: bundles.map((bundle) => ({
      channel: formatChannel(bundle),
      kind: bundle.kind,
      digest: bundle.digest,
      blobs: open.blobs,
    })),
    sites: new Map(ofRole(documents, 'site').map(({ site = '', version }) => [site, version])),
    holds: new Set(bundles.flatMap(({ assumed }) => assumed.map(({ digest }) => digest))),
    patches: new Map(deltas.map((delta) => [delta.digest, { delta, read: () => readPatch(open, delta) }])),
    notes: [],
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
};

/**
 * Reads the releases of a source with the checks of an export. A missing channel is no error. @param channels undefined: all
 * @throws FleetError with the codes of readOffer
 */
export const sideOfSource = async (
  source: Source,
  channels: readonly string[] | undefined,
  { now, signal }: SideOptions,
): Promise<Side> => {
  const wanted = channels?.map(parseChannel) ?? (await source.channels());
  const releases = new Map<string, number>();
  const bundles: Side['bundles'][number][] = [];
  for (const channel of wanted) {
    try {
      const offer = await readOffer(source, { channels: [channel], sites: [], reporters: [] }, now, signal);
      for (const offered of offer.channels) {
        const name = formatChannel(offered.channel);
        releases.set(name, offered.version);
        for (const { kind, digest } of offered.bundles)
          bundles.push({
            channel: name,
            kind,
            digest,
            blobs: source.blobs(channelRepository(offered.channel)),
          });
      }
    } catch (error) {
      if (!isFleetError(error, 'CHANNEL_MISSING')) throw error;
    }
  }
  return {
    name: source.name,
    releases,
    bundles,
    sites: undefined,
    holds: new Set(),
    patches: new Map(),
    notes: [],
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
};
