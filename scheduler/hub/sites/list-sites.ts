import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import type { Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { compareBytes, type Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { SiteAgent } from '#bundles/formats/statements/predicates';
import { fingerprintOfStored } from '#bundles/trust/keys/key';
import type { RebootRequired, RebootState } from '../store/reboot-state.ts';
import type { Database, FollowerKind } from '../store/tables.ts';
import { channelOf, freshnessOf, type Labels, labelsOf } from './agent-record.ts';
import type { LocalEditState } from '../store/local-edit-row.ts';
import { shownValues } from './hidden-values.ts';
import { siteValuesOf } from './issue-site.ts';
import { readLocalInForce, type SiteEdit } from './local-edits.ts';

export type ListedSite = {
  readonly site: string;
  readonly version: number;
  readonly expires: string;
  readonly values: { readonly [name: string]: unknown };
  readonly agents: readonly {
    readonly agent: string;
    /** Of its key; empty for a follower. */
    readonly fingerprint: string;
    /** Kind of the follower that replaces an agent; null: an agent. */
    readonly follower: FollowerKind | null;
    readonly channel: Channel;
    readonly labels: Labels;
    readonly freshness: SiteAgent['freshness'];
    readonly values: { readonly [name: string]: unknown };
    /** Values that people there set, and that it has not ended. */
    readonly local: readonly ListedLocal[];
    readonly enrolledAt: string;
    readonly revokedAt: string | null;
    /** The reboot that its host needs, as it reported; null: none. */
    readonly reboot: RebootRequired | null;
  }[];
};

export type ListedLocal = {
  readonly edit: Digest;
  readonly name: string;
  readonly value: unknown;
  readonly person: string;
  readonly reason: string;
  /** By the clock of the site. */
  readonly at: string;
  readonly state: LocalEditState;
};

const localOf = ({ edit, name, value, person, reason, at, state }: SiteEdit): ListedLocal => ({
  edit,
  name,
  value: parseJson(value ?? 'null'),
  person,
  reason,
  at,
  state,
});

/** All sites with their agents, both sorted by name. Includes revoked agents. */
export const listSites = async (db: Database, fleet: string): Promise<readonly ListedSite[]> => {
  const sites = await db.selectFrom('site').selectAll().execute();
  const agents = Map.groupBy(await db.selectFrom('agent').selectAll().execute(), ({ site }) => site);
  const local = Map.groupBy(await readLocalInForce(db), (one) => one.agent);
  return sites
    .toSorted((a, b) => compareBytes(a.name, b.name))
    .map((row) => {
      const values = siteValuesOf(row, fleet, row.name);
      return {
        site: row.name,
        version: row.version,
        expires: row.expires_at,
        values: values.values,
        agents: (agents.get(row.name) ?? [])
          .toSorted((a, b) => compareBytes(a.name, b.name))
          .map((agent) => ({
            agent: agent.name,
            fingerprint: agent.follower === null ? fingerprintOfStored(agent.key) : '',
            follower: agent.follower,
            channel: channelOf(agent),
            labels: labelsOf(agent),
            freshness: freshnessOf(agent),
            values: values.agents[agent.name] ?? {},
            local: (local.get(agent.id) ?? []).map(localOf),
            enrolledAt: agent.enrolled_at,
            revokedAt: agent.revoked_at,
            reboot: agent.reboot === null ? null : (parseJson(agent.reboot) as RebootState).required,
          })),
      };
    });
};

/** The site as people see it. */
export const withoutHiddenValues = (site: ListedSite, isHidden: IsHidden): ListedSite => ({
  ...site,
  values: shownValues(site.values, isHidden),
  agents: site.agents.map((agent) => ({ ...agent, values: shownValues(agent.values, isHidden) })),
});

/** 'port=8080 name="north"': values as JSON, which distinguishes 8080 from "8080". */
export const formatValues = (values: { readonly [name: string]: unknown }): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${JSON.stringify(value as Json)}`)
    .join(' ');

export const formatAgent = ({
  agent,
  channel,
  fingerprint: key,
  freshness,
  follower,
  revokedAt,
  reboot,
  local,
}: ListedSite['agents'][number]): readonly string[] => {
  const lease = freshness.mode === 'lease' ? [`lease of ${freshness.seconds / 3600} h`] : [];
  const needs = reboot === null || revokedAt !== null ? [] : [`needs a reboot since ${reboot.since}`];
  const revoked = revokedAt === null ? [] : [`revoked ${revokedAt}`];
  const set = local.map(({ name, value, person }) => `local ${formatValues({ [name]: value })} by ${person}`);
  const who = follower === null ? `key ${key}` : `by ${follower}, unsigned`;
  return [`  ${agent}`, formatChannel(channel), who, [...lease, ...revoked, ...needs, ...set].join('  ')];
};
