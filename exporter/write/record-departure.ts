import { FleetError } from '#bundles/errors';
import { contentsOf, type MediumContents, nameVolumes } from '#bundles/formats/medium/departure';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { askHub, type HubAccess } from '#bundles/transport/hub/ask-hub';
import { certificatesOf } from '#bundles/transport/registry/registry-access';
import type { RecordMedium, RecordedMedium } from '#bundles/schemas/types/hub-decisions';
import { recordMedium } from '#bundles/transport/hub/client';
import { newestIssued } from '../plan/newest-issued.ts';
import type { Prepared } from '../plan/prepare.ts';
import type { Exported } from './export-medium.ts';

type Written = Pick<Prepared, 'plan' | 'source' | 'targets' | 'authorities'> & {
  readonly set: Exported['set'];
  /** The places that were written. */
  readonly places: readonly string[];
};

/**
 * Records at the hub that the written medium leaves. The hub's certificate may be of the fleet's authority, which the trust root names.
 * @throws FleetError HUB_UNREACHABLE, HUB_REFUSED, TOKEN_INVALID, CONFIG_INVALID; those of reading the medium
 */
export const recordDeparture = async (
  written: Written,
  hub: Pick<HubAccess, 'url' | 'token' | 'env'> & { readonly caFile?: string | undefined },
  signal: AbortSignal,
): Promise<RecordedMedium> => {
  const departure = await departureOf(written, signal);
  const ca = [...written.authorities, certificatesOf(hub.caFile) ?? []].flat().join('\n');
  const access = { url: hub.url, token: hub.token, env: hub.env, ca: ca === '' ? undefined : ca };
  return askHub(access, (options) => recordMedium({ recordMedium: departure }, options), signal);
};

const departureOf = async (
  { plan, source, targets, set, places }: Written,
  signal: AbortSignal,
): Promise<RecordMedium> => {
  const folders = targets.filter(({ form, path }) => form === 'directory' && places.includes(path));
  // The office may be unable to open what it sealed.
  const { createdAt, releases, sites } = set
    ? contentsOf({ ...plan.medium, createdAt: await newestIssued(source, plan, signal) })
    : await contentsAt(places);
  const volumes = await nameVolumes(folders.map(({ path }) => path));
  return {
    fleet: plan.medium.fleet,
    createdAt,
    releases: [...releases],
    sites: [...sites],
    volumes: [...volumes],
  };
};

/** @throws FleetError MEDIUM_EMPTY */
const contentsAt = async (places: readonly string[]): Promise<MediumContents> => {
  await using medium = await openMedium(places);
  if (medium.medium) return contentsOf(medium.medium);
  throw new FleetError('MEDIUM_EMPTY', `there is no table of contents on ${medium.path}`);
};
