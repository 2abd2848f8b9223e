import { needsAttention } from '../../store/add-troubles.ts';
import type { Database } from '../../store/tables.ts';

/** Agents at which an assignment failed, or whose live state drifted. */
export type Trouble = { readonly failed: number; readonly drifted: number };

/** By '<channel>/<assignment>'. Reads only the assignments in trouble, so its cost follows what is wrong and not the fleet. */
export const readTroubles = async (db: Database): Promise<ReadonlyMap<string, Trouble>> => {
  const rows = await db
    .selectFrom('assignment_state as state')
    .innerJoin('agent', 'agent.id', 'state.agent')
    .select((eb) => [
      'agent.environment',
      'agent.cluster_type',
      'state.assignment',
      eb.fn
        .sum<number>(
          eb
            .case()
            .when(eb.or([eb('state.outcome', '=', 'failed'), eb('state.outcome_type', '=', 'rolled-back')]))
            .then(1)
            .else(0)
            .end(),
        )
        .as('failed'),
      eb.fn.sum<number>('state.drifted').as('drifted'),
    ])
    .where('agent.revoked_at', 'is', null)
    .where(needsAttention('state'))
    // Of what failed before it ever ran, no package runs.
    .where(({ eb, or }) =>
      or([
        eb('state.package', 'is not', null),
        eb('state.outcome', '=', 'failed'),
        eb('state.outcome_type', '=', 'rolled-back'),
      ]),
    )
    .groupBy(['agent.environment', 'agent.cluster_type', 'state.assignment'])
    .execute();
  return new Map(
    rows.map(({ environment, cluster_type: clusterType, assignment, failed, drifted }) => [
      `${environment}/${clusterType}/${assignment}`,
      { failed, drifted },
    ]),
  );
};
