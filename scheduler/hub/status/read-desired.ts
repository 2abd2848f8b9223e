import { checkAudience } from '#bundles/trust/accept/check-audience';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import { parseDocument } from '#bundles/json/validate';
import { readDocuments } from '../../load/releases/artifact.ts';
import { readRelease } from '../../load/releases/read-release.ts';
import { releaseReference } from '../../load/releases/references.ts';
import { readWaiting } from '../../release/removals/waiting.ts';
import { abortIfAsked } from '../refused.ts';
import type { Desired } from './what-runs-where.ts';

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

const readVerified = async (
  layout: Layout,
  channel: Channel,
  root: TrustRoot,
  signal?: AbortSignal,
): Promise<Desired | undefined> => {
  const release = await readRelease(layout, channel, [root]);
  if (!release) return undefined;
  const { audience, version, issuedAt, expires, rollout } = release.predicate;
  const mine = { fleet: root.fleet, ...channel };
  checkAudience(audience, mine, `the release of ${formatChannel(channel)}`);
  const packages = new Map<string, Digest>();
  const held: string[] = [];
  for (const [name, digest] of release.subjects) {
    if (!name.startsWith('bundle/')) continue;
    const statement = await readStatement(layout, channel, digest, root);
    checkAudience(statement, mine, `the statement of bundle ${shortDigest(digest)}`);
    held.push(...statement.held.map(({ assignment, message }) => `${assignment}: ${message}`));
    const { config } = await readBundle(layout.blobs, digest, signal);
    for (const assignment of config.assignments) packages.set(assignment.id, assignment.package);
  }
  const waits = await readWaiting(layout, channel);
  return { kind: 'release', version, issuedAt, expires, rollout, packages, held, waits };
};

/** @throws FleetError UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, SUBJECT_MISMATCH, SCHEMA */
const readStatement = async (
  layout: Layout,
  channel: Channel,
  bundle: Digest,
  root: TrustRoot,
): Promise<BundlePredicate> => {
  const what = `the statement of bundle ${shortDigest(bundle)}`;
  const documents = await readDocuments(layout, releaseReference(channel));
  const envelopes = await statementFiles(layout.blobs, documents, 'bundle', bundle);
  const verified = verifyStatement(envelopes, root.roles.bundle, PREDICATES.bundle, what);
  if (!verified.subjects.some(({ digest }) => digest === bundle))
    throw new FleetError('SUBJECT_MISMATCH', `${what} is about another bundle`, { subject: bundle });
  return parseDocument('bundle-predicate', verified.predicate, what);
};
