import { defined } from '#bundles/defined';
import { checkAudience } from '#bundles/trust/accept/check-audience';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { findReference, type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { bundlesOf, readRelease } from '../../../load/releases/read-release.ts';
import { releaseReference } from '../../../load/releases/references.ts';
import { readWaiting } from '../../../release/removals/waiting.ts';
import { abortIfAsked } from '../../refused.ts';
import { readBundleStatement } from './read-bundle-statement.ts';
import type { Desired, Team } from './what-runs-where.ts';

/** The desired state of channels by formatChannel, from their newest releases. An invalid release does not affect the others. */
export const readDesired = async (
  directory: string,
  channels: readonly Channel[],
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Desired>> => {
  const layout = await openOrStartLayout(directory);
  const desired = new Map<string, Desired>();
  for (const channel of channels) {
    abortIfAsked(signal);
    desired.set(formatChannel(channel), await readChannel(layout, channel, root, signal));
  }
  return desired;
};

const readChannel = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<Desired> => {
  try {
    return (await readVerified(layout, channel, root, signal)) ?? { kind: 'none' };
  } catch (error) {
    if (error instanceof FleetError) return { kind: 'refused', message: formatError(error) };
    throw error;
  }
};

type Verified = Extract<Desired, { kind: 'release' }>;

/** The newest verified release of each channel, with the artifact that it was read from. */
const verified = new WeakMap<
  TrustRoot,
  Map<string, { readonly artifact: Digest; readonly desired: Verified }>
>();

/** Verifies a release once: an artifact with the same digest is the same release. */
const readVerified = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<Verified | undefined> => {
  const artifact = findReference(layout, releaseReference(channel));
  if (!artifact) return undefined;
  const known = verified.get(root) ?? new Map<string, { artifact: Digest; desired: Verified }>();
  verified.set(root, known);
  const name = formatChannel(channel);
  const before = known.get(name);
  const desired =
    before?.artifact === artifact.digest ? before.desired : await verifyNewest(layout, channel, root, signal);
  if (!desired) return undefined;
  known.set(name, { artifact: artifact.digest, desired });
  return { ...desired, waits: await readWaiting(layout, channel) };
};

const verifyNewest = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<Verified | undefined> => {
  const release = await readRelease(layout, channel, [root]);
  if (!release) return undefined;
  const { audience, version, issuedAt, expires, rollout } = release.predicate;
  const mine = { fleet: root.fleet, ...channel };
  checkAudience(audience, mine, `the release of ${formatChannel(channel)}`);
  const packages = new Map<string, Digest>();
  const teams = new Map<string, Team>();
  const held: string[] = [];
  const takenBack = new Set<string>();
  for (const digest of bundlesOf(release)) {
    const statement = await readBundleStatement(layout, release, digest, root);
    checkAudience(statement, mine, `the statement of bundle ${shortDigest(digest)}`);
    held.push(...statement.held.map(({ assignment, message }) => `${assignment}: ${message}`));
    for (const { assignment, code } of statement.held) if (code === 'ROLLED_BACK') takenBack.add(assignment);
    const { config } = await readBundle(layout.blobs, digest, signal);
    for (const { id, package: digest, workspace, workload } of config.assignments) {
      packages.set(id, digest);
      teams.set(
        id,
        defined({
          workspace,
          workload,
        }),
      );
    }
  }
  return { kind: 'release', version, issuedAt, expires, rollout, packages, teams, held, takenBack };
};
