import { defined } from '#bundles/defined';
import { canonicalJson } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import { agentFolder } from '#bundles/formats/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { GENESIS } from '#bundles/formats/events/event';
import type { SiteAgent, SupportRequest } from '#bundles/formats/statements/predicates';
import { formatTime, type Timestamp } from '#bundles/time';
import type { AgentRow } from '../store/tables.ts';

/** The age recipient that an agent reported for its secrets, and since when, signed by the agent's key. */
export type ReportedRecipient = { readonly recipient: string; readonly at: Timestamp };

export type Labels = Readonly<Record<string, string>>;

export const agentId = (site: string, name: string): string => `${site}/${name}`;

export const channelOf = (row: Pick<AgentRow, 'environment' | 'cluster_type'>): Channel => ({
  environment: row.environment,
  clusterType: row.cluster_type,
});

/** The channels that agents follow, each once. */
export const channelsOf = (rows: readonly Parameters<typeof channelOf>[0][]): readonly Channel[] => [
  ...new Map(rows.map(channelOf).map((channel) => [formatChannel(channel), channel])).values(),
];

/** The agent's freshness rule: whether it needs a lease before it applies anything new, and how old the lease may be. */
export const freshnessOf = ({ freshness_seconds: seconds }: AgentRow): SiteAgent['freshness'] =>
  seconds === null ? { mode: 'release' } : { mode: 'lease', seconds };

export const labelsOf = ({ labels }: Pick<AgentRow, 'labels'>): Labels =>
  labels === '{}' ? NO_LABELS : (JSON.parse(labels) as Labels);

const NO_LABELS: Labels = {};

/**
 * The entry of an agent in the site statement. @param unreadable names of sets of the site that are not sealed to it
 * @param support the request for a support bundle that it has not answered
 */
export const toSiteAgent = (
  row: AgentRow,
  unreadable: readonly string[] = [],
  support?: SupportRequest,
): SiteAgent =>
  defined({
    name: row.name,
    key: row.key,
    recipient: row.recipient ?? undefined,
    unreadable: unreadable.length > 0 ? unreadable : undefined,
    channel: channelOf(row),
    previousChannel:
      row.previous_environment === null || row.previous_cluster_type === null
        ? null
        : { environment: row.previous_environment, clusterType: row.previous_cluster_type },
    labels: labelsOf(row),
    freshness: freshnessOf(row),
    support,
  });

/** The record of a newly enrolled agent. @param key SPKI PEM */
export const newAgentRow = (
  who: { readonly site: string; readonly agent: string; readonly recipient?: ReportedRecipient | undefined },
  key: string,
  channel: Channel,
  labels: Labels,
  now: Date,
): AgentRow => {
  const id = agentId(who.site, who.agent);
  return {
    id,
    site: who.site,
    name: who.agent,
    folder: agentFolder(id),
    ...keyColumns(key, now),
    ...channelColumns(channel),
    previous_environment: null,
    previous_cluster_type: null,
    labels: canonicalJson(labels),
    ...recipientColumns(who.recipient),
    freshness_seconds: null,
    follower: null,
    ...chainColumns(1, 0, GENESIS),
  };
};

const recipientColumns = (
  reported: ReportedRecipient | undefined,
): Pick<AgentRow, 'recipient' | 'recipient_at'> => ({
  recipient: reported?.recipient ?? null,
  recipient_at: reported?.at ?? null,
});

const keyColumns = (key: string, now: Date) => ({
  key,
  certificate: null,
  certificate_since: null,
  certificate_before: null,
  enrolled_at: formatTime(now),
  revoked_at: null,
});

const channelColumns = (channel: Channel): Pick<AgentRow, 'environment' | 'cluster_type'> => ({
  environment: channel.environment,
  cluster_type: channel.clusterType,
});

/** Columns of an empty event chain, and the head of the previous life. */
const chainColumns = (life: number, base: number, hash: Digest) => ({
  life,
  base_seq: base,
  base_hash: hash,
  first_seq: 0,
  head_seq: 0,
  head_hash: GENESIS,
  release_version: null,
  release_channel: null,
  release_seq: 0,
  release_at: null,
  heard_at: null,
  online_at: null,
  said_at: null,
  looks: null,
  service: null,
  held_seq: 0,
  held_at: null,
  held_until: null,
  held_by: null,
  held_reason: null,
  reboot_seq: 0,
  reboot: null,
});

/**
 * The record with another channel, labels or recipient. If the channel changes, the previous one is recorded.
 * @param recipient undefined: unchanged
 */
export const movedAgentRow = (
  row: AgentRow,
  channel: Channel,
  labels: Labels,
  recipient?: ReportedRecipient,
): AgentRow => {
  const moved = formatChannel(channel) !== formatChannel(channelOf(row));
  return {
    ...row,
    ...channelColumns(channel),
    previous_environment: moved ? row.environment : row.previous_environment,
    previous_cluster_type: moved ? row.cluster_type : row.previous_cluster_type,
    labels: canonicalJson(labels),
    ...(recipient && recipientColumns(recipient)),
  };
};

/**
 * The record with another key. It begins a new life, whose events start at 1 or continue the previous chain. The old recipient
 * is dropped even if the new machine reported none.
 */
export const rekeyedAgentRow = (
  row: AgentRow,
  key: string,
  recipient: ReportedRecipient | undefined,
  now: Date,
): AgentRow => ({
  ...row,
  ...recipientColumns(recipient),
  ...keyColumns(key, now),
  ...chainColumns(row.life + 1, row.head_seq, row.head_hash),
});
