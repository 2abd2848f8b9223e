import type { Json } from '#bundles/canonical';
import { compareBytes } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import { fingerprint, parsePublicKey } from '#bundles/trust/key';
import type { Database } from '../store/tables.ts';
import { channelOf, type Labels, labelsOf } from './agent-record.ts';
import { siteValuesOf } from './issue-site.ts';

export type ListedSite = {
  readonly site: string;
  readonly version: number;
  readonly expires: string;
  readonly values: { readonly [name: string]: unknown };
  readonly agents: readonly {
    readonly agent: string;
    readonly fingerprint: string;
    readonly channel: Channel;
    readonly labels: Labels;
    readonly values: { readonly [name: string]: unknown };
    readonly enrolledAt: string;
    readonly revokedAt: string | null;
  }[];
};

/** All sites, sorted by name, with their agents, revoked ones too. */
export const listSites = async (db: Database, fleet: string): Promise<readonly ListedSite[]> => {
  const sites = await db.selectFrom('site').selectAll().execute();
  const agents = Map.groupBy(await db.selectFrom('agent').selectAll().execute(), ({ site }) => site);
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
            fingerprint: fingerprint(parsePublicKey(agent.key)),
            channel: channelOf(agent),
            labels: labelsOf(agent),
            values: values.agents[agent.name] ?? {},
            enrolledAt: agent.enrolled_at,
            revokedAt: agent.revoked_at,
          })),
      };
    });
};

/** 'port=8080 name="north"'; JSON so that 8080 and "8080" look different. */
export const formatValues = (values: { readonly [name: string]: unknown }): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${JSON.stringify(value as Json)}`)
    .join(' ');

export const formatAgent = ({ agent, channel, fingerprint: key, revokedAt }: ListedSite['agents'][number]) =>
  `  ${agent}  ${formatChannel(channel)}  key ${key}${revokedAt === null ? '' : `  revoked ${revokedAt}`}`;
