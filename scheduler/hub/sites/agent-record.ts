import { canonicalJson } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { agentFolder } from '#bundles/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { GENESIS } from '#bundles/report/event';
import type { SiteAgent } from '#bundles/statements/predicates';
import { formatTime, type Timestamp } from '#bundles/time';
import type { AgentRow } from '../store/tables.ts';

/** What an agent says that its secrets are to be sealed to, and since when, signed by its key. */
export type ToldRecipient = { readonly recipient: string; readonly at: Timestamp };

export type Labels = Readonly<Record<string, string>>;

export const agentId = (site: string, name: string): string => `${site}/${name}`;

export const channelOf = (row: AgentRow): Channel => ({
  environment: row.environment,
  clusterType: row.cluster_type,
});

/** What must be true of the lease of its release, before it takes on anything new. */
export const freshnessOf = ({ freshness_seconds: seconds }: AgentRow): SiteAgent['freshness'] =>
  seconds === null ? { mode: 'release' } : { mode: 'lease', seconds };

export const labelsOf = (row: AgentRow): Labels => JSON.parse(row.labels) as Labels;

/** What the site statement says about an agent. @param unreadable sets of the site that are not sealed to it */
export const toSiteAgent = (row: AgentRow, unreadable: readonly string[] = []): SiteAgent => ({
  name: row.name,
  key: row.key,
  ...(row.recipient !== null && { recipient: row.recipient }),
  ...(unreadable.length > 0 && { unreadable }),
  channel: channelOf(row),
  previousChannel:
    row.previous_environment === null || row.previous_cluster_type === null
      ? null
      : { environment: row.previous_environment, clusterType: row.previous_cluster_type },
  labels: labelsOf(row),
  freshness: freshnessOf(row),
});

/** An agent nobody has heard of yet. */
export const newAgentRow = (
  who: { readonly site: string; readonly agent: string; readonly recipient?: ToldRecipient | undefined },
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
    ...chainColumns(1, 0, GENESIS),
  };
};

const recipientColumns = (told: ToldRecipient | undefined): Pick<AgentRow, 'recipient' | 'recipient_at'> => ({
  recipient: told?.recipient ?? null,
  recipient_at: told?.at ?? null,
});

const keyColumns = (key: string, now: Date): Pick<AgentRow, 'key' | 'enrolled_at' | 'revoked_at'> => ({
  key,
  enrolled_at: formatTime(now),
  revoked_at: null,
});

const channelColumns = (channel: Channel): Pick<AgentRow, 'environment' | 'cluster_type'> => ({
  environment: channel.environment,
  cluster_type: channel.clusterType,
});

/** A chain that has not begun, and where the one before it ended. */
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
});

/**
 * The same agent on other terms; a move names the channel it comes from. @param recipient undefined: as it was
 */
export const movedAgentRow = (
  row: AgentRow,
  channel: Channel,
  labels: Labels,
  recipient?: ToldRecipient,
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
 * The same name with another key: a new life, whose events may count from 1 or go on where the old ones end. What the old
 * machine could read is no longer sealed to, whether or not the new one told a recipient.
 */
export const rekeyedAgentRow = (
  row: AgentRow,
  key: string,
  recipient: ToldRecipient | undefined,
  now: Date,
): AgentRow => ({
  ...row,
  ...recipientColumns(recipient),
  ...keyColumns(key, now),
  ...chainColumns(row.life + 1, row.head_seq, row.head_hash),
});
