import { rm } from 'node:fs/promises';
import { defined } from '#bundles/defined';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { createTemporaryFolder } from '#bundles/temporary-folder';
import { planningBlobs } from '../acquire/blobs/planning-blobs.ts';
import type { AcceptedOffer } from '../acquire/offers/accepted-offer.ts';
import { fingerprint } from '../acquire/offers/fingerprint.ts';
import { judgeOffer } from '../acquire/offers/judge-offer.ts';
import { readOffer } from '../acquire/offers/read-offer.ts';
import { storeAccepted } from '../acquire/offers/store-accepted.ts';
import { frozenBy } from '../acquire/staleness/frozen-by.ts';
import type { Staleness } from '../acquire/staleness/read-staleness.ts';
import { type NextChanges, planNext } from '../apply/plan-next.ts';
import type { Agent } from '../store/agent.ts';
import type { SiteHold } from '../store/conditions.ts';
import { readSiteHold } from '../store/site-hold.ts';
import { adviseCopy } from './advise-copy.ts';
import { checkBreakGlass } from './check-break-glass.ts';
import type { ImportOptions } from './import-medium.ts';
import { type MediumNews, mediumNews } from './medium-news.ts';
import { unsealer } from './unsealer.ts';

/** Contents that an import of the medium would accept, and the changes that it would make here. */
export type MediumPlan = MediumNews & {
  /** false: all that is on the medium for this machine was imported before. */
  readonly isNew: boolean;
  readonly next: readonly NextChanges[];
  /** Set while an operator holds this machine: an import accepts the release, and the changes wait for the end of the hold. */
  readonly held?: SiteHold;
  /** Set if what was accepted is too old for changes (onStale). */
  readonly frozen?: Staleness;
};

/**
 * Judges a medium as an import does, and plans what the import would change. Neither the agent's state nor its store nor the medium is
 * written, and nothing is reported: a refusal is only thrown.
 * @param agent over a copy of the state (`scratchState`), in which the medium is accepted
 * @throws FleetError as importMedium
 */
export const planMedium = async (
  agent: Agent,
  paths: readonly string[],
  { prune = false, acceptExpired }: ImportOptions = {},
): Promise<MediumPlan> => {
  checkBreakGlass(agent, acceptExpired);
  const folder = await createTemporaryFolder('fleet-agent-plan-');
  try {
    await using opened = await openMedium(paths, { unseal: unsealer(agent) });
    const { planner, accepted } = await judge(agent, opened, folder, acceptExpired !== undefined);
    const before = fingerprint(planner.state);
    const acknowledged = storeAccepted(planner, accepted, { prune, reason: acceptExpired });
    const held = readSiteHold(planner);
    const frozen = frozenBy(planner);
    return {
      ...mediumNews(planner, accepted, acknowledged),
      isNew: fingerprint(planner.state) !== before || acknowledged.events > 0,
      next: await planNext(planner),
      ...defined({ held, frozen }),
    };
  } catch (cause) {
    throw forPlan(adviseCopy(toFleetError(cause)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

type Judged = { readonly planner: Agent; readonly accepted: AcceptedOffer };

const judge = async (
  agent: Agent,
  opened: OpenMedium,
  folder: string,
  acceptExpired: boolean,
): Promise<Judged> => {
  // Without roots: a list of missing blobs is not written onto the medium.
  const medium = { ...opened, roots: [] };
  const offer = await readOffer(agent, medium);
  const patched = new Set(medium.medium?.deltas?.map(({ digest }) => digest));
  const { state, images } = agent;
  const blobs = planningBlobs(state.blobs, offer.source.blobs, openBlobDirectory(folder), patched);
  const planner: Agent = {
    ...agent,
    state: { ...state, blobs },
    images: images.map((provider) => ({
      ...provider,
      prove: async () => {},
      bring: async () => 'brought' as const,
    })),
  };
  return { planner, accepted: await judgeOffer(planner, offer, { acceptExpired }) };
};

const forPlan = (error: FleetError): FleetError => {
  if (!isFleetError(error, 'PARTS_MISSING')) return error;
  return new FleetError('PARTS_MISSING', 'a plan needs all sticks of the set, and some are not here', {
    subject: error.subject,
    hint: 'Name all of them, or import the others first: their contents are kept, and nothing is applied before the last one',
    cause: error,
  });
};
