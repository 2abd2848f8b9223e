import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { SealedSet } from '#bundles/trust/secrets/secret-set';
import type { Agent } from '../../store/agent.ts';
import { savePull } from '../../store/pull.ts';
import { fetchSet } from './fetch-set.ts';
import { type FetchedImages, fetchSurveyed } from './fetch-surveyed.ts';
import { isStored } from './is-stored.ts';
import { deltasFor, rebuildBlobs } from './rebuild-blobs.ts';
import { refuseAbsent } from './refuse-absent.ts';
import type { Source } from './source.ts';
import { storedBlobs, surveyBlobs } from './survey-blobs.ts';

/**
 * Copies what bundles need: exactly their signed blobs, each verified while it is written. Images go directly to their
 * providers, not into the store, until a line breaks (fetchImage). Blobs that a delta leaves out must be present: own blobs are
 * verified, and providers are asked for images. When this returns, everything is in place and the release may be accepted. After a
 * kill, a repeated call completes it.
 * @param sealed secret sets that were copied before; they stay pinned
 * @throws FleetError MISSING_BASE, MISSING_BLOB, IMAGE_UNSIGNED, DISK_FULL, DIGEST_MISMATCH, SIZE_MISMATCH, and of the
 *   providers; PARTS_MISSING where other volumes of a set have the rest
 */
export const fetchBlobs = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  sealed: readonly SealedSet[] = [],
): Promise<FetchedImages> => {
  const pinned = [...sealed, ...deltasFor(source, bundles)].map(({ digest }) => digest);
  // Pinned before the survey: the blobs that it finds must still exist at the end.
  savePull(agent.state, [...storedBlobs(bundles).map(({ digest }) => digest), ...pinned]);
  const { medium } = source;
  if (medium?.parts) return fetchSet(agent, { ...source, medium, parts: medium.parts }, bundles, pinned);
  const patched = await rebuildBlobs(agent, source, bundles);
  const survey = await surveyBlobs(agent, patched, bundles, isStored);
  if (survey.absent.length > 0) await refuseAbsent(agent, patched, bundles, survey.absent);
  return fetchSurveyed(agent, patched, bundles, survey);
};
