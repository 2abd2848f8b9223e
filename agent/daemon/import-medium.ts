import { isFleetError, toFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { Agent } from '../store/agent.ts';
import { type Look, lookAround } from './look-around.ts';
import { openOperation } from '../store/journal/operations.ts';
import { recordRefused } from '../store/outbox/record-refused.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import { isBeingReplaced } from '../store/upgrade-trial.ts';
import { judgeOffer } from '../acquire/offers/judge-offer.ts';
import { removeNeeds } from '../acquire/blobs/missing-base.ts';
import { readOffer } from '../acquire/offers/read-offer.ts';
import { storeAccepted } from '../acquire/offers/store-accepted.ts';
import { adviseCopy } from './advise-copy.ts';
import { checkBreakGlass } from './check-break-glass.ts';
import { type MediumNews, mediumNews } from './medium-news.ts';
import { unsealer } from './unsealer.ts';

/** With the look that followed: packages that changed or failed, and what was compared with live state. */
export type ImportResult = MediumNews & Look;

/** Options of an import that the operator sets. */
export type ImportOptions = {
  /** Allows this release to remove more than the prune budget. */
  readonly prune?: boolean;
  /** Accepts expired statements, for this reason (break-glass). */
  readonly acceptExpired?: string | undefined;
};

/**
 * Imports a medium; several paths are volumes of one set. Until everything is verified and copied, only the blob store
 * changes. Then one transaction accepts the offer and moves all floors, packages are applied one by one, and all are compared with live state.
 * @throws FleetError USAGE if break-glass is not permitted, otherwise with the code of the attack table; refusals are recorded
 *   in the outbox
 */
export const importMedium = async (
  agent: Agent,
  paths: string | readonly string[],
  { prune = false, acceptExpired }: ImportOptions = {},
): Promise<ImportResult> => {
  checkBreakGlass(agent, acceptExpired);
  const unseal = unsealer(agent);
  await using medium = await orRecordRefused(agent, () => openMedium(paths, { unseal }));
  const how = { acceptExpired: acceptExpired !== undefined };
  const accepted = await orRecordRefused(agent, async () =>
    judgeOffer(agent, await readOffer(agent, medium), how),
  );
  const acknowledged = storeAccepted(agent, accepted, { prune, reason: acceptExpired });
  await removeNeeds(agent, medium);
  // Image blobs that waited for other volumes are with the providers now, and applying may need their space.
  if (medium.parts) await collectGarbage(agent.state);
  const news = mediumNews(agent, accepted, acknowledged);
  // After acceptance: the open operation may be waiting for the health of a package that this release replaces.
  const look = await applyAccepted(agent);
  return { ...news, ...look };
};

/**
 * Applies what was accepted and compares all packages with live state, also where the medium had nothing new. Where that upgrades
 * the agent itself, the version on trial does the rest. @throws FleetError ABORTED
 */
const applyAccepted = async (agent: Agent): Promise<Look> => {
  try {
    return await lookAround(agent, { leavesFailed: true });
  } catch (error) {
    const open = isFleetError(error, 'ABORTED') && !agent.signal.aborted && openOperation(agent.state);
    if (!open || !isBeingReplaced(agent.state.directory)) throw error;
    const { assignment } = open;
    const upgrading = {
      assignment,
      outcome: 'skipped',
      code: 'AGENT_UPGRADING',
      message: error.message,
    } as const;
    return { packages: [upgrading], drift: [] };
  }
};

/** Records a refusal for the report: the medium may be the wrong one, or a bad one. */
const orRecordRefused = async <T>(agent: Agent, judge: () => Promise<T>): Promise<T> => {
  try {
    return await judge();
  } catch (cause) {
    const error = adviseCopy(toFleetError(cause));
    if (isFleetError(error, 'ABORTED') || agent.signal.aborted) throw error;
    // Probably a mistyped path: there was no medium to refuse.
    if (isFleetError(error, 'MEDIUM_MISSING')) throw error;
    // Not a refusal: other volumes of the set are still to come.
    if (isFleetError(error, 'PARTS_MISSING')) throw error;
    try {
      recordRefused(agent, error);
    } catch {
      // The disk may be too full for the event; the original error is thrown either way.
    }
    throw error;
  }
};
