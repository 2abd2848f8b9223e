import type { Digest } from '#bundles/digest';
import { formatTime } from '#bundles/time';
import type { TreeCluster } from '../../../deliver/git/cluster-folder.ts';
import type { TreeCommit } from '../../../deliver/tree/read-commits.ts';
import { agentId, channelOf, labelsOf } from '../../sites/agent-record.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, Database, Tx } from '../../store/tables.ts';

/** The clusters that follow by Flux or Argo CD, with the values of their sites. */
export const readClusters = async ({
  db,
  fleet,
}: Pick<Store, 'db' | 'fleet'>): Promise<readonly TreeCluster[]> => {
  const rows = await db
    .selectFrom('agent')
    .selectAll()
    .where('follower', 'is not', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  const names = [...new Set(rows.map(({ site }) => site))];
  const sites =
    names.length === 0 ? [] : await db.selectFrom('site').selectAll().where('name', 'in', names).execute();
  const bySite = new Map(sites.map((site) => [site.name, site]));
  return rows.map((row) => ({
    channel: channelOf(row),
    site: row.site,
    agent: row.name,
    labels: labelsOf(row),
    values: siteValuesOf(bySite.get(row.site), fleet, row.site),
  }));
};

/** Commits that are kept of each cluster: one that reports is at most some pulls behind. */
const KEPT = 100;

/** Stores what clusters find at commits of a tree. */
export const keepTreeCommits = async (
  store: Store,
  commits: readonly TreeCommit[],
  now: Date,
): Promise<void> => {
  if (commits.length === 0) return;
  const seen_at = formatTime(now);
  await store.transact(async (tx) => {
    for (const { cluster, commit, bundle } of commits) {
      const agent = agentId(cluster.site, cluster.agent);
      await tx
        .insertInto('tree_commit')
        .values({ agent, sha: commit, bundle, seen_at })
        .onConflict((conflict) => conflict.columns(['agent', 'sha']).doUpdateSet({ bundle, seen_at }))
        .execute();
      const last = await tx
        .selectFrom('tree_commit')
        .select('seen_at')
        .where('agent', '=', agent)
        .orderBy('seen_at', 'desc')
        .offset(KEPT)
        .limit(1)
        .executeTakeFirst();
      if (last)
        await tx
          .deleteFrom('tree_commit')
          .where('agent', '=', agent)
          .where('seen_at', '<=', last.seen_at)
          .execute();
    }
  });
};

/** The bundle whose content a cluster has at a commit of its tree; undefined for a commit that was not seen. */
export const bundleAt = async (
  db: Database | Tx,
  { id }: Pick<AgentRow, 'id'>,
  sha: string,
): Promise<Digest | undefined> => {
  const row = await db
    .selectFrom('tree_commit')
    .select('bundle')
    .where('agent', '=', id)
    .where('sha', '=', sha)
    .executeTakeFirst();
  return row?.bundle;
};
