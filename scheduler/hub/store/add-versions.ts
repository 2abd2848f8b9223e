import { type Kysely, sql } from 'kysely';
import { addDiscrepancies } from './add-views.ts';

/** Adds the version of each package for people, and views with it. In SQL that SQLite and PostgreSQL share. */
export const addVersions = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('package_version')
    .addColumn('environment', 'text', (column) => column.notNull())
    .addColumn('cluster_type', 'text', (column) => column.notNull())
    .addColumn('assignment', 'text', (column) => column.notNull())
    .addColumn('package', 'text', (column) => column.notNull())
    .addColumn('workspace', 'text')
    .addColumn('workload', 'text')
    .addColumn('version', 'text')
    .addColumn('source_commit', 'text')
    .addColumn('wanted_by', 'bigint')
    .addPrimaryKeyConstraint('package_version_pk', ['environment', 'cluster_type', 'assignment', 'package'])
    .execute();
  for (const view of ['discrepancies', 'environments', 'deployments'])
    await sql`drop view ${sql.ref(`v1_${view}`)}`.execute(db);
  await sql`create view v1_versions as
    select environment, cluster_type, assignment, package, workspace, workload, version, source_commit,
      wanted_by as release
    from package_version`.execute(db);
  await sql`create view v1_deployments as
    select a.environment, a.cluster_type, a.site, a.id as agent, d.assignment, d.package, d.site_values,
      d.release_version as release, d.running_at as since,
      case
        when d.outcome = 'failed' or d.outcome_type = 'rolled-back' then 'failed'
        when d.package is null then 'deleted'
        when d.drifted = 1 then 'drifted'
        when d.code = 'HEALTH_UNKNOWN' then 'unknown'
        else 'healthy'
      end as state,
      d.code, case when d.drifted = 1 then d.drift_message else d.message end as message,
      v.workspace, v.workload, v.version, v.source_commit
    from assignment_state d join agent a on a.id = d.agent
      left join package_version v on v.environment = a.environment and v.cluster_type = a.cluster_type
        and v.assignment = d.assignment and v.package = d.package
    where a.revoked_at is null`.execute(db);
  await sql`create view v1_environments as
    select environment, cluster_type, assignment, package, max(release) as release, count(*) as agents,
      sum(case when state = 'healthy' then 1 else 0 end) as healthy,
      sum(case when state = 'failed' then 1 else 0 end) as failed,
      sum(case when state = 'drifted' then 1 else 0 end) as drifted,
      sum(case when state = 'unknown' then 1 else 0 end) as unknown,
      max(workspace) as workspace, max(workload) as workload, max(version) as version,
      max(source_commit) as source_commit
    from v1_deployments where package is not null
    group by environment, cluster_type, assignment, package`.execute(db);
  await addDiscrepancies(db);
};
