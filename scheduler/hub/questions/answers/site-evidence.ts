import { isFleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { Json } from '#bundles/json/canonical';
import { formatChannel, parseChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { type AuditEntry, readAuditLog } from '../../../load/releases/audit-log.ts';
import { type ListedRelease, listReleases } from '../../../release/reissue/list-releases.ts';
import type { Hub } from '../../hub.ts';
import { releaseValue } from '../../ingest/reports/facts.ts';
import type { Database } from '../../store/tables.ts';
import { type AgentAt, readStateAt } from '../history/read-state-at.ts';
import { readBundleStatement } from '../state/read-bundle-statement.ts';
import { siteMissing } from '../../sites/set-values.ts';

/** Agents of a site in one answer. */
const MAX_AGENTS = 1000;

/**
 * The answer to an auditor about one site at a time: what ran by the signed reports that the hub has, the releases that it came from,
 * with candidate and commits, and the entries of the audit log until then about the site and its environments.
 * @throws FleetError SITE_MISSING; the codes of readAuditLog and listReleases
 */
export const siteEvidence = async (
  { store, keys, layout }: Pick<Hub, 'store' | 'keys' | 'layout'>,
  { site, at }: { readonly site: string; readonly at: Timestamp },
  now: Date,
): Promise<{ readonly [name: string]: Json }> => {
  const known = await store.db.selectFrom('site').select('name').where('name', '=', site).executeTakeFirst();
  if (!known) throw siteMissing(site);
  const { agents } = await readStateAt(store.db, { site }, { at }, { limit: MAX_AGENTS, cursor: undefined });
  const laidOut = await openOrStartLayout(layout);
  const log = await readAuditLog(laidOut, keys.roots);
  const about = async (agent: AgentAt) => {
    const name = agent.own.release?.value ?? null;
    const channel = name === null ? agent.channel : parseChannel(name.replace(/ r\d+$/, ''));
    const found = (await listReleases(laidOut, channel, keys.roots)).find(
      ({ release }) => releaseValue(formatChannel(channel), release.predicate.version) === name,
    );
    const last = await lastReport(store.db, agent.agent, at);
    return {
      agent: agent.agent,
      lastReport: last?.report ?? null,
      packages: agent.assignments.map(({ assignment, values }) => ({
        assignment,
        lookedAt: lookOf(last?.looks, assignment),
        ...values,
      })),
      state: agent.own as Json,
      release: found ? await describeRelease(found) : name,
    };
  };
  const describeRelease = async ({ release, bundles, revoked }: ListedRelease) => {
    const statements: Json[] = [];
    for (const bundle of bundles) {
      const statement = await readBundleStatement(laidOut, release, bundle, release.root).catch(
        (error: unknown) => {
          if (isFleetError(error)) return undefined;
          throw error;
        },
      );
      if (!statement) continue;
      const { candidate, shared, promoted, sources, held, builder, builtAt } = statement;
      statements.push({
        bundle,
        candidate,
        shared: shared ?? null,
        promoted: promoted ?? null,
        builder,
        builtAt,
        held: held.map(({ assignment, code, kept }) => ({ assignment, code, kept: kept ?? null })),
        sources: sources.map(({ role, repo, path, commit, ref }) => ({
          role,
          repo,
          path,
          commit: commit ?? null,
          ref: ref ?? null,
        })),
      });
    }
    const { audience, version, issuedAt, auditHead } = release.predicate;
    const { environment, clusterType } = audience;
    return {
      channel: formatChannel({ environment, clusterType }),
      version,
      issuedAt,
      statement: release.digest,
      auditHead,
      revoked: revoked ?? null,
      bundles: statements,
    };
  };
  const described: Json[] = [];
  for (const agent of agents) described.push(await about(agent));
  const environments = new Set(agents.map(({ channel }) => channel.environment));
  const entries = log.entries.filter((entry) => entry.at <= at && concerns(entry, site, environments));
  return {
    fleet: keys.root.fleet,
    site,
    at,
    madeAt: formatTime(now),
    agents: described,
    audit: {
      head: log.head,
      entries: entries.map(({ number, digest, kind, at: appended, candidate, predicate }) => ({
        number,
        digest,
        kind,
        at: appended,
        candidate: candidate ?? null,
        predicate,
      })),
    },
  };
};

const concerns = (entry: AuditEntry, site: string, environments: ReadonlySet<string>): boolean => {
  switch (entry.kind) {
    case 'promotion':
      return environments.has(entry.predicate.to);
    case 'approval':
      return entry.predicate.about === undefined
        ? environments.has(entry.predicate.to)
        : entry.predicate.to === site;
    case 'decision':
      return environments.has(entry.predicate.environment);
    case 'change': {
      const { about, change } = entry.predicate;
      const [channel = ''] = about.split(' ');
      return (
        about === site ||
        about.startsWith(`${site}/`) ||
        change.startsWith('root ') ||
        (change === 'revoke' && environments.has(channel.split('/')[0] ?? ''))
      );
    }
  }
};

/** The newest report about the time until then: what is known rests on it, and on the agent's last look before it was written. */
const lastReport = async (db: Database, agent: string, at: Timestamp) => {
  const row = await db
    .selectFrom('report')
    .select(['digest', 'written_at', 'received_at', 'source', 'clock_trusted', 'statement'])
    .where('agent', '=', agent)
    .where('apart', '=', 0)
    .where('written_at', '<=', at)
    .orderBy('written_at', 'desc')
    .orderBy('number', 'desc')
    .executeTakeFirst();
  if (!row) return undefined;
  const looks = looksIn(row.statement);
  return {
    report: {
      digest: row.digest,
      writtenAt: row.written_at,
      receivedAt: row.received_at,
      source: row.source,
      clockTrusted: row.clock_trusted === 1,
      lookedAt: looks.lookedAt ?? null,
    },
    looks,
  };
};

type Looks = Pick<ReportPredicate, 'lookedAt' | 'looks'>;

/** When the agent last compared live state, by its signed statement; nothing from an older agent. */
const looksIn = (statement: string): Looks => {
  const { payload } = parseEnvelope(Buffer.from(statement), 'a report');
  return (JSON.parse(payload.toString()) as { predicate: Looks }).predicate;
};

/** When the agent last compared this package, by the same statement; null: never, or at an unknown time. */
const lookOf = (looks: Looks | undefined, assignment: string): Timestamp | null => {
  const named = looks?.looks?.packages[assignment];
  return named === undefined ? (looks?.lookedAt ?? null) : named;
};
