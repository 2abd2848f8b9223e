import { type Kysely, sql } from 'kysely';

/**
 * Views for dashboards, a contract like the API (docs/operations/office.md, "Dashboards"): a column is added, never changed or
 * removed, under the same name. In SQL that SQLite and PostgreSQL share.
 */
export const addViews = async (db: Kysely<unknown>): Promise<void> => {
  await sql`create view v1_agents as
    select a.id as agent, a.site, a.environment, a.cluster_type, a.release_version as release,
      a.enrolled_at, a.heard_at, a.said_at, a.held_at, a.held_reason,
      coalesce(s.failed, 0) as failed, coalesce(s.drifted, 0) as drifted, coalesce(s.unknown, 0) as unknown
    from agent a left join agent_state s on s.agent = a.id
    where a.revoked_at is null`.execute(db);
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
      d.code, case when d.drifted = 1 then d.drift_message else d.message end as message
    from assignment_state d join agent a on a.id = d.agent
    where a.revoked_at is null`.execute(db);
  await sql`create view v1_environments as
    select environment, cluster_type, assignment, package, max(release) as release, count(*) as agents,
      sum(case when state = 'healthy' then 1 else 0 end) as healthy,
      sum(case when state = 'failed' then 1 else 0 end) as failed,
      sum(case when state = 'drifted' then 1 else 0 end) as drifted,
      sum(case when state = 'unknown' then 1 else 0 end) as unknown
    from v1_deployments where package is not null
    group by environment, cluster_type, assignment, package`.execute(db);
  // A row whose value is that of the row before was a change when its report came, and a late report brought what lay between.
  await sql`create view v1_changes as
    select * from (
      select h.observed_at, h.received_at, a.environment, a.cluster_type, a.site, h.agent, h.assignment, h.field,
        coalesce(lag(h.value) over (partition by h.agent, h.assignment, h.field, h.life order by h.seq),
          case when h.field = 'drift' then 'in sync' end) as previous,
        h.value, h.report
      from history h join agent a on a.id = h.agent
      where a.revoked_at is null) as changed
    where value is distinct from previous`.execute(db);
  await addDiscrepancies(db);
};

/** Of v1_deployments. */
export const addDiscrepancies = async (db: Kysely<unknown>): Promise<void> => {
  await sql`create view v1_discrepancies as
    select environment, cluster_type, site, agent, assignment, state as reason, code, message
    from v1_deployments where state in ('failed', 'drifted', 'unknown')
    union all
    select a.environment, a.cluster_type, a.site, a.id, null,
      case when s.agent is null then 'never reported' else 'behind' end, null, null
    from agent a left join agent_state s on s.agent = a.id
    where a.revoked_at is null and (s.agent is null or coalesce(a.release_version, 0) < (
      select max(b.release_version) from agent b
      where b.revoked_at is null and b.environment = a.environment and b.cluster_type = a.cluster_type
        and b.release_channel = a.environment || '/' || a.cluster_type))`.execute(db);
};
