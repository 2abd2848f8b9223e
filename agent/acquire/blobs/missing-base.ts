import { access, constants } from 'node:fs/promises';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, shortDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { agentFolder, type OpenMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { formatTime } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { heldWithImages } from '../../images/held-bundles.ts';
import { fullName } from '../../store/identity.ts';
import type { Source } from './source.ts';
import { removeFromMedium, writeOntoMedium } from './write-onto-medium.ts';

/**
 * Refuses a delta whose base is incomplete here. Writes the list of missing and present blobs onto the medium, if it is
 * writable, so that the platform team can make the right medium. @throws FleetError MISSING_BASE, always
 */
export const refuseMissingBase = async (
  agent: Agent,
  medium: OpenMedium,
  absent: readonly Descriptor[],
  badPatches?: Source['badPatches'],
): Promise<never> => {
  const missing = absent.map(({ digest }) => digest).toSorted(compareBytes);
  const written = await writeNeeds(agent, medium, missing);
  const shown = missing.slice(0, 5).map(shortDigest).join(', ');
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
  throw new FleetError(
    'MISSING_BASE',
    `this medium leaves out ${missing.length} blobs that are not here: ${shown}${more}${describeBadPatches(badPatches)}`,
    {
      subject: missing[0],
      hint: written
        ? `Carry the medium back: ${written} on it lists the missing blobs`
        : `${medium.roots.length > 0 ? 'Nothing can be written onto it: ask' : 'Ask'} for a full medium, or for one made from a fresh report of this agent`,
    },
  );
};

const describeBadPatches = (bad: Source['badPatches']): string => {
  if (!bad) return '';
  const { failed, untried } = bad;
  const lying =
    failed === 1 ? '1 patch does not yield its blob' : `${failed} patches do not yield their blobs`;
  return `; ${lying}${untried > 0 ? `, so the other ${untried} were not tried` : ''}`;
};

const writeNeeds = async (
  agent: Agent,
  medium: OpenMedium,
  missing: readonly Digest[],
): Promise<string | undefined> => {
  if (medium.roots.length === 0) return undefined;
  const file = needsFile(agent);
  const bytes = canonicalBytes({
    fleet: agent.identity.fleet,
    agent: fullName(agent.identity),
    missing,
    holds: await heldWithImages(agent),
    at: formatTime(agent.edge.now()),
  });
  for (const root of medium.roots) {
    try {
      await access(root, constants.W_OK);
      await writeOntoMedium(root, file, bytes);
      return file;
    } catch (error) {
      // Write-protected or full: the next volume is tried, and without one the message says what to do.
      if (!isOfTheMedium(error)) throw error;
    }
  }
  return undefined;
};

/** Removes this agent's list of missing blobs from the medium, because nothing is missing any more. */
export const removeNeeds = async (agent: Agent, medium: OpenMedium): Promise<void> => {
  for (const root of medium.roots) {
    try {
      await removeFromMedium(root, needsFile(agent));
    } catch (error) {
      // A successful import does not fail because the list cannot be removed.
      if (!isOfTheMedium(error)) throw error;
    }
  }
};

const needsFile = ({ identity }: Agent): string =>
  `${REQUESTS_FOLDER}/${agentFolder(fullName(identity))}-needs.json`;

const isOfTheMedium = (error: unknown): boolean =>
  ['PERMISSION', 'DISK_FULL', 'IO', 'MEDIUM_INVALID'].includes(toFleetError(error).code);
