import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { ofRole } from '#bundles/formats/layout/of-role';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { formatChannel } from '#bundles/names';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { parseAs } from '#bundles/json/parse-as';
import { RELEASE_PREDICATE } from '#bundles/json/schema/validators';

/** A medium of an archive, with the fields that decide which is newer. */
export type ArchivedMedium = {
  readonly fleet: string;
  readonly createdAt: string;
  /** Channel -> number of the release, sorted. */
  readonly releases: readonly (readonly [channel: string, version: number])[];
  readonly sites: readonly string[];
  readonly bundles: readonly Digest[];
  /** Bundles that it assumes at the site. */
  readonly base: readonly Digest[];
};

const MAX_ROOT_BYTES = 512 << 10;

/**
 * @param pinned the trusted root: if given, releases are verified by their signers, also after their expiry
 * @throws FleetError MEDIUM_EMPTY; ROOT_UNKNOWN for a medium that does not lead to that root; as verifyStatement
 */
export const readArchived = async (
  { path, medium, blobs }: OpenMedium,
  pinned: Digest | undefined,
): Promise<ArchivedMedium> => {
  if (!medium) throw new FleetError('MEDIUM_EMPTY', `nothing was written to the medium ${path} yet`);
  const { fleet, createdAt, documents, bundles } = medium;
  const roots = pinned && (await rootsFrom(pinned, { documents, blobs, path }));
  if (roots && roots[0]?.fleet !== fleet)
    throw new FleetError(
      'WRONG_FLEET',
      `${path} names fleet ${fleet}, but its root is of fleet ${roots[0]?.fleet}`,
    );
  const releases = new Map<string, number>();
  for (const { environment = '', clusterType = '', version, digest } of ofRole(documents, 'release')) {
    const channel = formatChannel({ environment, clusterType });
    const said = version ?? 0;
    if (roots) await checkVersion(await readBlob(blobs, digest, MAX_STATEMENT_BYTES), roots, channel, said);
    releases.set(channel, said);
  }
  return {
    fleet,
    createdAt,
    releases: [...releases].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    sites: [...new Set(ofRole(documents, 'site').flatMap(({ site }) => site ?? []))].toSorted(),
    bundles: bundles.map(({ digest }) => digest),
    base: bundles.flatMap(({ base = [] }) => base),
  };
};

/** The roots from the pinned one to the newest, each of which may have signed documents of an archive. */
const rootsFrom = async (
  pinned: Digest,
  { documents, blobs, path }: Pick<Medium, 'documents'> & Pick<OpenMedium, 'blobs' | 'path'>,
): Promise<readonly TrustRoot[]> => {
  const all = await Promise.all(
    ofRole(documents, 'root').map(async ({ digest }) =>
      parseRoot(await readBlob(blobs, digest, MAX_ROOT_BYTES)),
    ),
  );
  const start = all.find(({ digest }) => digest === pinned);
  if (!start)
    throw new FleetError('ROOT_UNKNOWN', `${path} does not have the root with the SHA-256 of --root-sha256`);
  const later = all
    .filter(({ version }) => version > start.version)
    .toSorted((a, b) => a.version - b.version);
  advanceRoot(start, later);
  return [start, ...later];
};

const checkVersion = async (
  statement: Buffer,
  roots: readonly TrustRoot[],
  channel: string,
  said: number,
): Promise<void> => {
  const what = `the release of ${channel}`;
  const newest = roots.at(-1);
  const envelopes = [statement];
  // Several signers have a file each; one valid signature is enough to compare ages.
  const any = roots.map((root) => ({
    ...root,
    roles: { ...root.roles, release: { ...root.roles.release, threshold: 1 } },
  }));
  const { verified } = verifyUnder(envelopes, any, 'release', PREDICATES.release, what);
  const { audience, version } = parseAs(RELEASE_PREDICATE, verified.predicate, what);
  if (formatChannel(audience) === channel && version === said && audience.fleet === newest?.fleet) return;
  throw new FleetError(
    'WRONG_CHANNEL',
    `the medium names ${what} ${said}, but it was signed for release ${version} of ${formatChannel(audience)}`,
  );
};
