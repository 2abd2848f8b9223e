import { formatCount } from '#bundles/format-count';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, shortDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { agentFolder, type Medium, type OpenMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { removeFileFromMedium, writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';

/**
 * Reports blobs that neither the medium nor the registry has. If the medium is a delta, writes a needs document onto it, as an agent does
 * (docs/bundle-format.md section 11).
 * @param holds bundles in the registry @param now time for the document; undefined: dry run
 * @throws FleetError MISSING_BASE, MISSING_BLOB, PARTS_MISSING; always
 */
export const refuseMissing = async (
  { path, roots, medium, parts }: OpenMedium,
  where: string,
  digests: readonly Digest[],
  holds: readonly Digest[],
  now: Date | undefined,
): Promise<never> => {
  const assumed = new Set(medium?.bundles.flatMap((bundle) => bundle.assumed.map(({ digest }) => digest)));
  const missing = digests.toSorted(compareBytes);
  const lost = missing.filter((digest) => !assumed.has(digest));
  if (lost.length > 0) {
    const needed = new Set(lost.flatMap((digest) => parts?.partOf(digest) ?? []));
    const absent = (parts?.missing ?? []).filter((number) => needed.has(number));
    throw new FleetError(
      parts ? 'PARTS_MISSING' : 'MISSING_BLOB',
      `${path} lacks ${count(lost)} that it should carry`,
      {
        subject: lost[0],
        hint: parts
          ? `Name the stick with part ${nameSome(absent.map(String))} too`
          : 'The copy is not complete: copy it again',
      },
    );
  }
  const file = medium && now && (await writeNeeds(roots, medium, missing, holds, now));
  const patched = new Set(medium?.deltas?.map(({ digest }) => digest));
  const advice = missing.every((digest) => patched.has(digest))
    ? 'The patches on it are for agents: for a registry the medium is made without --binary-deltas'
    : 'Ask for a full medium, or push the one first that this one builds on';
  const nothing = now ? 'Nothing was pushed' : 'A push would be refused';
  throw new FleetError('MISSING_BASE', `${path} leaves out ${count(missing)} that ${where} does not have`, {
    subject: missing[0],
    hint: file
      ? `${nothing}. Carry the medium back: ${file} on it lists the missing blobs`
      : `${nothing}. ${advice}`,
  });
};

/** '3 blobs (sha256:..., sha256:...)' */
const count = (digests: readonly Digest[]): string =>
  `${formatCount(digests.length, 'blob')} (${nameSome(digests.map(shortDigest))})`;

const writeNeeds = async (
  roots: readonly string[],
  medium: Medium,
  missing: readonly Digest[],
  holds: readonly Digest[],
  now: Date,
): Promise<string | undefined> => {
  const { file, agent } = noteOf(medium);
  const [root] = roots;
  if (root === undefined) return undefined;
  try {
    const note = { fleet: medium.fleet, agent, missing, holds, at: formatTime(now) };
    await writeFileOntoMedium(root, file, canonicalBytes(note));
    return file;
  } catch (error) {
    // The medium is write-protected or full: then only the message names the blobs.
    if (isOfTheMedium(error)) return undefined;
    throw error;
  }
};

/** Removes the needs document once the registry has the blobs. */
export const removeNeeds = async ({ roots, medium }: OpenMedium): Promise<void> => {
  if (!medium) return;
  try {
    for (const root of roots) await removeFileFromMedium(root, noteOf(medium).file);
  } catch (error) {
    if (!isOfTheMedium(error)) throw error;
  }
};

/** Name of the registry's needs document, which differs from the names of agents. */
const noteOf = ({ documents }: Medium): { readonly file: string; readonly agent: string } => {
  const agent = `${documents.find(({ site }) => site !== undefined)?.site ?? 'edge'}/registry`;
  return { agent, file: `${REQUESTS_FOLDER}/${agentFolder(agent)}-needs.json` };
};

const isOfTheMedium = (error: unknown): boolean =>
  ['PERMISSION', 'DISK_FULL', 'IO', 'MEDIUM_INVALID'].includes(toFleetError(error).code);
