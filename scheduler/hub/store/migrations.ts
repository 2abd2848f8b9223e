import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { addAgentState } from './add-agent-state.ts';
import { addAlarmHandling } from './add-alarm-handling.ts';
import { addAlarms, addRefusals } from './add-alarms.ts';
import { addCompliance } from './add-compliance.ts';
import { addHistory } from './add-history.ts';
import { addPendingChanges } from './add-pending-changes.ts';
import { addVersions } from './add-versions.ts';
import { addLocalEdits } from './add-local-edits.ts';
import { addLooks } from './add-looks.ts';
import { addPeople } from './add-people.ts';
import { addSiteValues } from './add-site-values.ts';
import { addSiteLayers } from './add-site-layers.ts';
import { addThinnedValues } from './add-thinned-values.ts';
import { addUnfinishedWrites } from './add-unfinished-writes.ts';
import { addValuesRollouts } from './add-values-rollouts.ts';
import { addSupport } from './add-support.ts';
import { addArrivals, addAttention } from './add-troubles.ts';
import { addViews } from './add-views.ts';

/**
 * Never edit a released migration: add a new one. Column types are limited to those that SQLite and PostgreSQL share.
 *
 * Programs of the release before use the database meanwhile. So a migration only adds: tables, indexes, views, columns of views, and
 * columns that may be null or have a default. What no program of a supported release uses any more is removed by a migration named
 * `NNNN-contract-...`, which older programs refuse as STORE_NEWER.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-sites-agents-events': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('fleet')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('writes', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('site')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('version', 'bigint', (column) => column.notNull())
        .addColumn('site_values', 'text', (column) => column.notNull())
        .addColumn('statement', 'text', (column) => column.notNull())
        .addColumn('payload', 'text', (column) => column.notNull())
        .addColumn('issued_at', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('agent')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('site', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('folder', 'text', (column) => column.notNull().unique())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('environment', 'text', (column) => column.notNull())
        .addColumn('cluster_type', 'text', (column) => column.notNull())
        .addColumn('previous_environment', 'text')
        .addColumn('previous_cluster_type', 'text')
        .addColumn('labels', 'text', (column) => column.notNull())
        .addColumn('life', 'bigint', (column) => column.notNull())
        .addColumn('base_seq', 'bigint', (column) => column.notNull())
        .addColumn('base_hash', 'text', (column) => column.notNull())
        .addColumn('first_seq', 'bigint', (column) => column.notNull())
        .addColumn('head_seq', 'bigint', (column) => column.notNull())
        .addColumn('head_hash', 'text', (column) => column.notNull())
        .addColumn('release_version', 'bigint')
        .addColumn('release_channel', 'text')
        .addColumn('release_seq', 'bigint', (column) => column.notNull())
        .addColumn('release_at', 'text')
        .addColumn('enrolled_at', 'text', (column) => column.notNull())
        .addColumn('revoked_at', 'text')
        .execute();
      await db.schema.createIndex('agent_site').on('agent').column('site').execute();
      await db.schema
        .createTable('agent_key')
        .addColumn('hint', 'text', (column) => column.primaryKey())
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('since', 'text', (column) => column.notNull())
        .addColumn('ended_at', 'text')
        .execute();
      await db.schema
        .createTable('report')
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('life', 'bigint', (column) => column.notNull())
        .addColumn('digest', 'text', (column) => column.notNull())
        .addColumn('first_seq', 'bigint', (column) => column.notNull())
        .addColumn('last_seq', 'bigint', (column) => column.notNull())
        .addColumn('source', 'text', (column) => column.notNull())
        .addColumn('received_at', 'text', (column) => column.notNull())
        .addColumn('written_at', 'text', (column) => column.notNull())
        .addColumn('clock_trusted', 'integer', (column) => column.notNull())
        .addColumn('channel', 'text')
        .addColumn('floor_root', 'bigint', (column) => column.notNull())
        .addColumn('floor_site', 'bigint', (column) => column.notNull())
        .addColumn('floor_release', 'bigint', (column) => column.notNull())
        .addColumn('floor_lease', 'bigint', (column) => column.notNull())
        .addColumn('floor_time', 'text', (column) => column.notNull())
        .addColumn('statement', 'text', (column) => column.notNull())
        .addColumn('apart', 'integer', (column) => column.notNull())
        .addPrimaryKeyConstraint('report_pk', ['agent', 'life', 'digest'])
        .execute();
      await db.schema
        .createIndex('report_last')
        .on('report')
        .columns(['agent', 'life', 'last_seq'])
        .execute();
      await db.schema
        .createTable('event')
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('life', 'bigint', (column) => column.notNull())
        .addColumn('seq', 'bigint', (column) => column.notNull())
        .addColumn('hash', 'text', (column) => column.notNull())
        .addColumn('prev', 'text', (column) => column.notNull())
        .addColumn('at', 'text', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('assignment', 'text')
        .addColumn('package', 'text')
        .addColumn('outcome', 'text')
        .addColumn('code', 'text')
        .addColumn('report', 'text', (column) => column.notNull())
        .addColumn('line', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('event_pk', ['agent', 'life', 'seq'])
        .execute();
      await db.schema
        .createTable('assignment_state')
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('assignment', 'text', (column) => column.notNull())
        .addColumn('package', 'text')
        .addColumn('site_values', 'text')
        .addColumn('release_version', 'bigint')
        .addColumn('running_seq', 'bigint', (column) => column.notNull())
        .addColumn('running_at', 'text')
        .addColumn('running_report', 'text')
        .addColumn('outcome', 'text')
        .addColumn('outcome_type', 'text')
        .addColumn('code', 'text')
        .addColumn('message', 'text')
        .addColumn('outcome_seq', 'bigint', (column) => column.notNull())
        .addColumn('outcome_at', 'text')
        .addColumn('outcome_report', 'text')
        .addColumn('drifted', 'integer', (column) => column.notNull())
        .addColumn('drift_message', 'text')
        .addColumn('drift_seq', 'bigint', (column) => column.notNull())
        .addColumn('drift_at', 'text')
        .addColumn('drift_report', 'text')
        .addPrimaryKeyConstraint('assignment_state_pk', ['agent', 'assignment'])
        .execute();
      await db.schema
        .createTable('alarm')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('code', 'text', (column) => column.notNull())
        .addColumn('message', 'text', (column) => column.notNull())
        .addColumn('report', 'text', (column) => column.notNull())
        .addColumn('raised_at', 'text', (column) => column.notNull())
        .addColumn('events', 'text')
        .execute();
      await db.schema.createIndex('alarm_agent').on('alarm').column('agent').execute();
      await db.schema
        .createTable('receipt')
        .addColumn('agent', 'text', (column) => column.primaryKey())
        .addColumn('life', 'bigint', (column) => column.notNull())
        .addColumn('to_seq', 'bigint', (column) => column.notNull())
        .addColumn('head', 'text', (column) => column.notNull())
        .addColumn('report', 'text', (column) => column.notNull())
        .addColumn('receipt', 'text', (column) => column.notNull())
        .execute();
    },
  },
  '0002-tokens': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('token')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('hash', 'text', (column) => column.notNull().unique())
        .addColumn('scope', 'text', (column) => column.notNull())
        .addColumn('site', 'text')
        .addColumn('agent', 'text')
        .addColumn('environment', 'text')
        .addColumn('cluster_type', 'text')
        .addColumn('labels', 'text')
        .addColumn('replace_key', 'integer', (column) => column.notNull())
        .addColumn('note', 'text')
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'text', (column) => column.notNull())
        .addColumn('used_at', 'text')
        .addColumn('used_by', 'text')
        .addColumn('used_key', 'text')
        .addColumn('revoked_at', 'text')
        .execute();
      await db.schema.alterTable('agent').addColumn('heard_at', 'text').execute();
    },
  },
  '0003-presence': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('online_at', 'text').execute();
      await sql`update agent set online_at = (select max(received_at) from report
        where report.agent = agent.id and report.life = agent.life and report.source = 'network')`.execute(
        db,
      );
    },
  },
  '0004-secrets': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('recipient', 'text').execute();
      await db.schema
        .createTable('secret_set')
        .addColumn('site', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('version', 'bigint', (column) => column.notNull())
        .addColumn('digest', 'text')
        .addColumn('sealed', 'text')
        .addColumn('recipients', 'text', (column) => column.notNull())
        .addColumn('agents', 'text')
        .addColumn('sealed_at', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('secret_set_pk', ['site', 'name'])
        .execute();
    },
  },
  '0005-freshness': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('freshness_seconds', 'bigint').execute();
    },
  },
  '0006-recipient-time': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('recipient_at', 'text').execute();
    },
  },
  '0007-age-of-words': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('said_at', 'text').execute();
      // A report describes the site when it was written, which no clock of a site puts after its arrival.
      await sql`update agent set said_at = (
        select max(case when written_at < received_at and source <> 'network' then written_at else received_at end)
        from report where report.agent = agent.id and report.life = agent.life and report.apart = 0)`.execute(
        db,
      );
      await sql`update agent set said_at = online_at
        where online_at is not null and (said_at is null or said_at < online_at)`.execute(db);
      await db.schema.alterTable('fleet').addColumn('freshness', 'text').execute();
    },
  },
  '0007-compacted': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('event').addColumn('last_seq', 'bigint').execute();
      await sql`create index event_compacted on event (agent, life, last_seq) where last_seq is not null`.execute(
        db,
      );
    },
  },
  '0007-held': {
    up: async (db: Kysely<unknown>) => {
      const added = ['held_at', 'held_until', 'held_by', 'held_reason'] as const;
      for (const column of added) await db.schema.alterTable('agent').addColumn(column, 'text').execute();
      await db.schema
        .alterTable('agent')
        .addColumn('held_seq', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  '0008-history': { up: addHistory },
  '0009-gates': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('gate_link')
        .addColumn('environment', 'text', (column) => column.primaryKey())
        .addColumn('promoted_from', 'text', (column) => column.notNull())
        .addColumn('mode', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('candidate', 'text')
        .addColumn('waits_for', 'text')
        .addColumn('why', 'text')
        .addColumn('since', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('gate_check')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('environment', 'text', (column) => column.notNull())
        .addColumn('shared', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('message', 'text', (column) => column.notNull())
        .addColumn('at', 'text', (column) => column.notNull())
        .addColumn('tries', 'bigint', (column) => column.notNull())
        .addColumn('next_at', 'text')
        .addColumn('until', 'text', (column) => column.notNull())
        .addColumn('signed_at', 'bigint', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('gate_check_candidate')
        .on('gate_check')
        .columns(['environment', 'shared'])
        .execute();
    },
  },
  '0010-agent-state': { up: addAgentState },
  '0011-followers': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('follower', 'text').execute();
      await db.schema
        .createTable('follower')
        .addColumn('agent', 'text', (column) => column.primaryKey())
        .addColumn('secret', 'text', (column) => column.notNull())
        .addColumn('since', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('follower_object')
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('life', 'bigint', (column) => column.notNull())
        .addColumn('object', 'text', (column) => column.notNull())
        .addColumn('at', 'text', (column) => column.notNull())
        .addColumn('digest', 'text', (column) => column.notNull())
        .addColumn('bundle', 'text')
        .addColumn('state', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('follower_object_pk', ['agent', 'life', 'object'])
        .execute();
    },
  },
  '0012-views': { up: addViews },
  '0013-deciding': {
    up: async (db: Kysely<unknown>) => {
      for (const column of ['person', 'allowances'])
        await db.schema.alterTable('token').addColumn(column, 'text').execute();
      await db.schema
        .createTable('api_request')
        .addColumn('token', 'text', (column) => column.notNull())
        .addColumn('key', 'text', (column) => column.notNull())
        .addColumn('request', 'text', (column) => column.notNull())
        .addColumn('answer', 'text')
        .addColumn('started_at', 'text', (column) => column.notNull())
        .addColumn('ends_at', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('api_request_pk', ['token', 'key'])
        .execute();
      await db.schema.createIndex('api_request_ends').on('api_request').column('ends_at').execute();
    },
  },
  '0014-commit-statuses': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('commit_status')
        .addColumn('environment', 'text', (column) => column.notNull())
        .addColumn('repo', 'text', (column) => column.notNull())
        .addColumn('sha', 'text', (column) => column.notNull())
        .addColumn('candidates', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('set_at', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('commit_status_pk', ['environment', 'repo', 'sha'])
        .execute();
    },
  },
  '0015-leader': {
    up: async (db: Kysely<unknown>) => {
      for (const column of ['leader', 'leader_since'])
        await db.schema.alterTable('fleet').addColumn(column, 'text').execute();
      await db.schema
        .alterTable('fleet')
        .addColumn('term', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  '0016-alarms': { up: addAlarms },
  '0017-versions': { up: addVersions },
  '0018-retention': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('fleet').addColumn('removed_until', 'text').execute();
    },
  },
  '0019-medium-returns': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('medium_return')
        .addColumn('received_at', 'text', (column) => column.primaryKey())
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('releases', 'text', (column) => column.notNull())
        .addColumn('sites', 'text', (column) => column.notNull())
        .execute();
    },
  },
  '0020-people': { up: addPeople },
  '0021-troubles': { up: addAttention },
  '0022-refusals': { up: addRefusals },
  '0023-arrivals': { up: addArrivals },
  '0024-tree-commits': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('tree_commit')
        .addColumn('agent', 'text', (column) => column.notNull())
        .addColumn('sha', 'text', (column) => column.notNull())
        .addColumn('bundle', 'text', (column) => column.notNull())
        .addColumn('seen_at', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('tree_commit_pk', ['agent', 'sha'])
        .execute();
    },
  },
  '0025-medium-departures': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('medium_departure')
        .addColumn('filling', 'text', (column) => column.primaryKey())
        .addColumn('recorded_at', 'text', (column) => column.notNull())
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('releases', 'text', (column) => column.notNull())
        .addColumn('sites', 'text', (column) => column.notNull())
        .execute();
    },
  },
  '0026-medium-volumes': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('medium_volume')
        .addColumn('volume', 'text', (column) => column.primaryKey())
        .addColumn('filling', 'text', (column) => column.notNull())
        .execute();
    },
  },
  '0027-compliance': { up: addCompliance },
  '0028-medium-came-back': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('medium_departure').addColumn('returned_at', 'text').execute();
    },
  },
  '0029-token-keys': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('token').addColumn('proof_key', 'text').execute();
    },
  },
  '0030-pending-changes': { up: addPendingChanges },
  '0031-looks': { up: addLooks },
  '0032-certificates': {
    up: async (db: Kysely<unknown>) => {
      for (const column of ['certificate', 'certificate_since', 'certificate_before'])
        await db.schema.alterTable('agent').addColumn(column, 'text').execute();
    },
  },
  '0033-audit-head': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('fleet').addColumn('audit_head', 'text').execute();
    },
  },
  '0034-reboots': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('agent').addColumn('reboot', 'text').execute();
      await db.schema
        .alterTable('agent')
        .addColumn('reboot_seq', 'bigint', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  '0035-support': { up: addSupport },
  '0036-site-values': { up: addSiteValues },
  '0037-site-layers': { up: addSiteLayers },
  '0038-layers-of': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('layers_of')
        .addColumn('channel', 'text', (column) => column.notNull())
        .addColumn('bundle', 'text', (column) => column.notNull())
        .addColumn('release', 'bigint', (column) => column.notNull())
        .addColumn('built_at', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('layers_of_key', ['channel', 'bundle'])
        .execute();
    },
  },
  '0039-values-rollouts': { up: addValuesRollouts },
  '0040-local-edits': { up: addLocalEdits },
  '0041-alarm-handling': { up: addAlarmHandling },
  '0042-unfinished-writes': { up: addUnfinishedWrites },
  '0043-thinned-values': { up: addThinnedValues },
  '0044-local-edit-proposals': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('local_edit').addColumn('proposal', 'text').execute();
    },
  },
  '0045-unmet-conditions': {
    up: async (db: Kysely<unknown>) => {
      await db.schema.alterTable('gate_link').addColumn('unmet', 'text').execute();
    },
  },
};
