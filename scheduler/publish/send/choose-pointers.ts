import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, referenceOf } from '#bundles/layout/layout';
import { nameSome } from '#bundles/name-some';
import { type Channel, formatChannel, isName } from '#bundles/names';
import { channelRepository, siteRepository } from '#bundles/registry/references';
import type { Pointer } from './shipment.ts';

/** What to publish. Nothing named: all that the layout has; else only what is named. */
export type Selection = {
  readonly channels?: readonly Channel[] | undefined;
  readonly environments?: readonly string[] | undefined;
  readonly sites?: readonly string[] | undefined;
};

const CHANNEL = /^([^/]+)\/([^/]+):release$/;
const SITE = /^sites\/([^/]+):(site|receipts)$/;

/**
 * The pointers of a layout, channels before sites, each sorted bytewise: a site's order may name a channel.
 * @throws FleetError CHANNEL_MISSING, SITE_MISSING for what is named and not there
 */
export const choosePointers = (layout: Layout, selection: Selection): readonly Pointer[] => {
  const all = pointersOf(layout);
  const { channels, environments, sites } = selection;
  if (!channels && !environments && !sites) return all;
  checkThere(layout, all, selection);
  const wanted = new Set([...(channels ?? []).map(formatChannel), ...(sites ?? []).map(siteRepository)]);
  return all.filter(
    ({ repository, tag }) =>
      wanted.has(repository) ||
      (tag === 'release' && environments?.some((name) => repository.startsWith(`${name}/`))),
  );
};

/** Every channel with a release in the layout, sorted. */
export const channelsIn = (layout: Layout): readonly string[] =>
  pointersOf(layout).flatMap(({ tag, repository }) => (tag === 'release' ? [repository] : []));

const pointersOf = (layout: Layout): readonly Pointer[] => {
  const found = layout.manifests
    .map((artifact) => ({ artifact, reference: referenceOf(artifact) ?? '' }))
    .toSorted((a, b) => compareBytes(a.reference, b.reference))
    .flatMap(({ artifact, reference }) => pointerOf(reference, artifact) ?? []);
  return [...found.filter(({ tag }) => tag === 'release'), ...found.filter(({ tag }) => tag !== 'release')];
};

const pointerOf = (reference: string, artifact: Pointer['artifact']): Pointer | undefined => {
  const [, environment, clusterType] = CHANNEL.exec(reference) ?? [];
  if (isName(environment) && isName(clusterType))
    return { repository: channelRepository({ environment, clusterType }), tag: 'release', artifact };
  const [, site, tag] = SITE.exec(reference) ?? [];
  if (!isName(site)) return undefined;
  return { repository: siteRepository(site), tag: tag === 'receipts' ? 'receipts' : 'site', artifact };
};

const checkThere = (layout: Layout, all: readonly Pointer[], selection: Selection): void => {
  const there = new Set(all.map(({ repository }) => repository));
  const channels = channelsIn(layout);
  const hint = channels.length > 0 ? `It has ${nameSome(channels)}` : 'Build one first';
  for (const channel of selection.channels ?? []) {
    if (!there.has(formatChannel(channel)))
      throw missing(`${layout.directory} has no release of ${formatChannel(channel)}`, hint);
  }
  for (const environment of selection.environments ?? []) {
    if (!channels.some((channel) => channel.startsWith(`${environment}/`)))
      throw missing(`${layout.directory} has no release of environment ${environment}`, hint);
  }
  for (const site of selection.sites ?? []) {
    if (there.has(siteRepository(site))) continue;
    throw new FleetError('SITE_MISSING', `${layout.directory} has no statement of site ${site}`, {
      subject: site,
      hint: 'Enrol the site first',
    });
  }
};

const missing = (message: string, hint: string): FleetError =>
  new FleetError('CHANNEL_MISSING', message, { hint });
