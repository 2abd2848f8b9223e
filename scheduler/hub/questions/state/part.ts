import type { ExpressionBuilder } from 'kysely';
import { isSeen, type Visible } from '../../people/visible.ts';
import type { Tables } from '../../store/tables.ts';

/** The agents of a question: of an environment or a site, named ones, or a page of these. */
export type Part = {
  readonly environment?: string | undefined;
  /** Any of them. */
  readonly environments?: readonly string[] | undefined;
  readonly clusterType?: string | undefined;
  readonly site?: string | undefined;
  /** '<site>/<agent>' */
  readonly agents?: readonly string[] | undefined;
  /** First and last '<site>/<agent>'. */
  readonly page?: readonly [string, string] | undefined;
  /** First and last site. */
  readonly sites?: readonly [string, string] | undefined;
  /** undefined: everything. */
  readonly visible?: Visible | undefined;
};

/** The condition on the table `agent`. */
export const isIn =
  ({ environment, environments, clusterType, site, agents, page, sites, visible }: Part) =>
  (eb: ExpressionBuilder<Pick<Tables, 'agent'>, 'agent'>) =>
    eb.and([
      ...(environment === undefined ? [] : [eb('agent.environment', '=', environment)]),
      ...(environments === undefined ? [] : [eb('agent.environment', 'in', environments)]),
      ...(clusterType === undefined ? [] : [eb('agent.cluster_type', '=', clusterType)]),
      ...(site === undefined ? [] : [eb('agent.site', '=', site)]),
      ...(agents === undefined ? [] : [eb('agent.id', 'in', agents)]),
      ...(page ? [eb.between('agent.id', ...page)] : []),
      ...(sites ? [eb.between('agent.site', ...sites)] : []),
      ...(visible ? [isSeen(visible)(eb)] : []),
    ]);
