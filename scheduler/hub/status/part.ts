import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../store/tables.ts';

/** The agents that a question is about: those of a site, or a page of all. */
export type Part = {
  readonly site?: string | undefined;
  /** First and last '<site>/<agent>'. */
  readonly page?: readonly [string, string] | undefined;
};

/** The condition on the table `agent`. */
export const isIn =
  ({ site, page }: Part) =>
  (eb: ExpressionBuilder<Pick<Tables, 'agent'>, 'agent'>) =>
    eb.and([
      ...(site === undefined ? [] : [eb('agent.site', '=', site)]),
      ...(page ? [eb.between('agent.id', ...page)] : []),
    ]);
