import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseDocument } from '#bundles/json/validate';
import { type Channel, formatChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type AuditLog, readAuditLog, rejectionOf } from './audit-log.ts';
import { bundlesOf, type StoredRelease } from './read-release.ts';

/** Provenance in a bundle statement. */
export type Lineage = Pick<BundlePredicate, 'environment' | 'shared' | 'promoted' | 'held' | 'builtAt'>;

/**
 * Whether a bundle may be in a channel, as far as the layout knows: every verb that puts content into a channel asks this
 * before it signs or publishes. A bundle that says what was promoted needs a promotion of that to its environment in the audit
 * log. One that does not say so may be released if nothing was ever promoted to its environment, or if it was built before.
 * @throws FleetError NOT_PROMOTED
 */
export const checkPromoted = (
  { entries }: Pick<AuditLog, 'entries'>,
  channel: Channel,
  said: Lineage,
): void => {
  const promotions = entries.flatMap((entry) =>
    entry.kind === 'promotion' && entry.predicate.to === channel.environment ? [entry] : [],
  );
  const { promoted, builtAt } = said;
  const [first] = promotions;
  if (promoted === undefined) {
    if (!first || parseTime(builtAt) < parseTime(first.at)) return;
  } else if (promotions.some(({ predicate }) => predicate.shared === promoted)) return;
  const name = formatChannel(channel);
  throw new FleetError(
    'NOT_PROMOTED',
    promoted === undefined
      ? `the bundle for ${name} was built from no promoted candidate`
      : `the bundle for ${name} was built from ${shortDigest(promoted)}, which was not promoted to ${channel.environment}`,
    {
      subject: name,
      hint: `Promote with: fleet-scheduler promote ${channel.environment}, then build`,
    },
  );
};

/**
 * Whether what a bundle was built from was rejected for its environment since: asked where a person decides to release it. What
 * runs already stays.
 * @throws FleetError NOT_PROMOTED
 */
export const checkNotRejected = (
  { entries }: Pick<AuditLog, 'entries'>,
  channel: Channel,
  { promoted }: Lineage,
): void => {
  const { environment } = channel;
  const rejection = promoted && rejectionOf(entries, environment, promoted);
  if (rejection === undefined) return;
  const name = formatChannel(channel);
  throw new FleetError(
    'NOT_PROMOTED',
    `the bundle for ${name} was built from a candidate that was ${rejection}`,
    {
      subject: name,
      hint: `Promote another candidate with: fleet-scheduler promote ${environment}, then build`,
    },
  );
};

/** Statements of the bundles that a release names, by any of its signature files; signatures are not verified. */
export const lineagesOf = async (
  layout: Layout,
  release: Pick<StoredRelease, 'subjects' | 'documents'>,
): Promise<readonly BundlePredicate[]> => {
  const found: BundlePredicate[] = [];
  for (const bundle of bundlesOf(release)) {
    const [file] = await statementFiles(layout.blobs, release.documents, 'bundle', bundle);
    if (!file) continue;
    const what = `the statement of bundle ${shortDigest(bundle)}`;
    const { predicate } = parseStatement(parseEnvelope(file, what).payload, what);
    found.push(parseDocument('bundle-predicate', predicate, what));
  }
  return found;
};

/** Asks checkPromoted for every bundle of a release. @throws FleetError NOT_PROMOTED; the codes of readAuditLog */
export const checkRelease = async (
  layout: Layout,
  channel: Channel,
  release: StoredRelease,
  roots: readonly TrustRoot[],
): Promise<void> => {
  const log = await readAuditLog(layout, roots);
  for (const said of await lineagesOf(layout, release)) checkPromoted(log, channel, said);
};
