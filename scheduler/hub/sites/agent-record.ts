import { canonicalJson } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { agentFolder } from '#bundles/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { GENESIS } from '#bundles/report/event';
import type { SiteAgent } from '#bundles/statements/predicates';
import { formatTime } from '#bundles/time';
import type { AgentRow } from '../store/tables.ts';

export type Labels = Readonly<Record<string, string>>;

export const agentId = (site: string, name: string): string => `${site}/${name}`;

export const channelOf = (row: AgentRow): Channel => ({
  environment: row.environment,
  clusterType: row.cluster_type,
});

export const labelsOf = (row: AgentRow): Labels => JSON.parse(row.labels) as Labels;

/** What the site statement says about an agent. */
export const toSiteAgent = (row: AgentRow): SiteAgent => ({
  name: row.name,
  key: row.key,
  channel: channelOf(row),
  previousChannel:
    row.previous_environment === null || row.previous_cluster_type === null
      ? null
      : { environment: row.previous_environment, clusterType: row.previous_cluster_type },
  labels: labelsOf(row),
  freshness: { mode: 'release' },
});

/** An agent nobody has heard of yet. */
export const newAgentRow = (
  who: { readonly site: string; readonly agent: string },
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
    ...chainColumns(1, 0, GENESIS),
  };
};

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

/** The same agent on other terms; a move names the channel it comes from. */
export const movedAgentRow = (row: AgentRow, channel: Channel, labels: Labels): AgentRow => {
  const moved = formatChannel(channel) !== formatChannel(channelOf(row));
  return {
    ...row,
    ...channelColumns(channel),
    previous_environment: moved ? row.environment : row.previous_environment,
    previous_cluster_type: moved ? row.cluster_type : row.previous_cluster_type,
    labels: canonicalJson(labels),
  };
};

/** The same name with another key: a new life, whose events may count from 1 or go on where the old ones end. */
export const rekeyedAgentRow = (row: AgentRow, key: string, now: Date): AgentRow => ({
  ...row,
  ...keyColumns(key, now),
  ...chainColumns(row.life + 1, row.head_seq, row.head_hash),
});
