import { formatChannel } from '#bundles/names';
import { fingerprint, parsePublicKey } from '#bundles/trust/keys/key';
import type { Change } from '../changes/note-change.ts';
import type { AgentRow } from '../store/tables.ts';
import { channelOf, labelsOf } from './agent-record.ts';

/** An agent's state for the audit log: channel, labels, freshness, the fingerprint of its key and its age recipient. */
export const describeAgent = (row: AgentRow): NonNullable<Change['new']> => ({
  channel: formatChannel(channelOf(row)),
  labels: { ...labelsOf(row) },
  ...(row.follower === null ? { key: fingerprint(parsePublicKey(row.key)) } : { follower: row.follower }),
  ...(row.recipient !== null && { recipient: row.recipient }),
  ...(row.freshness_seconds !== null && { freshnessSeconds: row.freshness_seconds }),
  enrolledAt: row.enrolled_at,
  ...(row.revoked_at !== null && { revokedAt: row.revoked_at }),
  ...(row.release_version !== null && { release: row.release_version }),
});
