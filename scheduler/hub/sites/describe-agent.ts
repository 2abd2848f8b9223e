import { defined } from '#bundles/defined';
import { formatChannel } from '#bundles/names';
import { fingerprintOfStored } from '#bundles/trust/keys/key';
import type { Change } from '../changes/note-change.ts';
import type { AgentRow } from '../store/tables.ts';
import { channelOf, labelsOf } from './agent-record.ts';

/** An agent's state for the audit log: channel, labels, freshness, the fingerprint of its key and its age recipient. */
export const describeAgent = (row: AgentRow): NonNullable<Change['new']> => ({
  channel: formatChannel(channelOf(row)),
  labels: { ...labelsOf(row) },
  ...(row.follower === null ? { key: fingerprintOfStored(row.key) } : { follower: row.follower }),
  ...defined({ recipient: row.recipient ?? undefined, freshnessSeconds: row.freshness_seconds ?? undefined }),
  enrolledAt: row.enrolled_at,
  ...defined({ revokedAt: row.revoked_at ?? undefined, release: row.release_version ?? undefined }),
});
