import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { noteVersions } from '../../../../../scheduler/hub/questions/history/note-versions.ts';
import type { TestHub } from '../../test-hub.ts';
import { deployment, PROD, release, shop } from './shop-hub.ts';

const ask = async (hub: TestHub, query: string): Promise<readonly object[]> =>
  (await sql.raw<object>(query).execute(hub.store.db)).rows;

/** The questions of the dashboards of Kalypso's observability hub, in its words in the comments. */
describe('the dashboard views with displayed versions', () => {
  it('have the wanted and running versions of an environment, and the number of healthy and failed agents', async () => {
    await using hub = await shop();
    await noteVersions(hub);
    // "Environments State": version, deployed version, status, clusters.
    const rows = await ask(
      hub,
      `select w.environment, w.workload, w.assignment, w.version, e.version as deployed, e.agents, e.healthy, e.failed
        from v1_versions w left join v1_environments e on e.environment = w.environment
          and e.cluster_type = w.cluster_type and e.assignment = w.assignment
        where w.release is not null order by w.environment, w.assignment`,
    );
    const one = { workload: null, agents: 1, healthy: 1, failed: 0 };
    expect(rows).toEqual([
      { ...one, environment: 'prod', assignment: 'web', version: '1.0', deployed: '1.0' },
      {
        environment: 'qa',
        assignment: 'extra',
        version: '2.0',
        workload: null,
        deployed: null,
        agents: null,
        healthy: null,
        failed: null,
      },
      { ...one, environment: 'qa', assignment: 'web', version: '2.0', deployed: '2.0' },
    ]);
  });

  it('have the version of each cluster', async () => {
    await using hub = await shop();
    await noteVersions(hub);
    // "Clusters State": cluster, status, deployed version, deployed on.
    expect(
      await ask(hub, 'select agent, assignment, version, state, since from v1_deployments order by agent'),
    ).toEqual([
      {
        agent: 'lab/rig-1',
        assignment: 'web',
        version: '2.0',
        state: 'healthy',
        since: '2026-11-13T08:00:00Z',
      },
      {
        agent: 'plant-7/press-1',
        assignment: 'web',
        version: '1.0',
        state: 'healthy',
        since: '2026-11-18T08:00:00Z',
      },
    ]);
  });

  it('compare two environments by version', async () => {
    await using hub = await shop();
    await noteVersions(hub);
    // "Deployments": scheduled, deployed and successful of each environment in one row.
    const rows = await ask(
      hub,
      `select a.assignment, a.version as qa, b.version as prod from v1_versions a
        join v1_versions b on b.cluster_type = a.cluster_type and b.assignment = a.assignment
        where a.environment = 'qa' and b.environment = 'prod'
          and a.release is not null and b.release is not null and a.package <> b.package`,
    );
    expect(rows).toEqual([{ assignment: 'web', qa: '2.0', prod: '1.0' }]);
  });

  it('keep the versions of earlier releases', async () => {
    await using hub = await shop();
    await noteVersions(hub);
    await release(hub, PROD, 4, { web: deployment('3.0', 5, 'second') });
    await noteVersions(hub);
    // "Environment History": each version with its state.
    expect(
      await ask(
        hub,
        `select c.observed_at, v.version from v1_changes c left join v1_versions v on v.environment = c.environment
          and v.cluster_type = c.cluster_type and v.assignment = c.assignment and v.package = c.value
          where c.agent = 'plant-7/press-1' and c.field = 'package' and v.version is not null`,
      ),
    ).toEqual([{ observed_at: '2026-11-18T08:00:00Z', version: '1.0' }]);
    expect(
      await ask(hub, `select version, release from v1_versions where environment = 'prod' order by version`),
    ).toEqual([
      { version: '1.0', release: null },
      { version: '3.0', release: 4 },
    ]);
  });

  it('are written once for each state of the layout', async () => {
    await using hub = await shop();
    await noteVersions(hub);
    await hub.store.db.deleteFrom('package_version').execute();
    await noteVersions(hub);
    expect(await ask(hub, 'select * from v1_versions')).toEqual([]);
  });
});
