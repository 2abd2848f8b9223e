import { type Expression, type ExpressionBuilder, expressionBuilder, type SqlBool } from 'kysely';
import type { Tables } from '../store/tables.ts';

/**
 * Limits of a reader. Data about a whole environment (links, gates, releases, rollouts, alarms, gaps, events of an agent
 * itself) are for readers of the whole environment; of other environments only these assignments, and the agents that have
 * them.
 */
export type Visible = {
  readonly whole: ReadonlySet<string>;
  /** Assignments by environment, for environments that are not `whole`. */
  readonly parts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Environments, or '*', of which also the state of the link to them is visible. */
  readonly gates?: ReadonlySet<string>;
};

export const seesWhole = (visible: Visible | undefined, environment: string): boolean =>
  visible === undefined || visible.whole.has(environment);

/** Whether the state of the link to an environment is visible. */
export const seesLink = (visible: Visible | undefined, to: string): boolean =>
  seesWhole(visible, to) || visible?.gates?.has(to) === true || visible?.gates?.has('*') === true;

export const seesEnvironment = (visible: Visible | undefined, environment: string): boolean =>
  seesWhole(visible, environment) || visible?.parts.has(environment) === true;

export const seesAssignment = (
  visible: Visible | undefined,
  environment: string,
  assignment: string,
): boolean => seesWhole(visible, environment) || visible?.parts.get(environment)?.has(assignment) === true;

/** Whether an assignment of this name may be visible in some environment. */
export const seesSomewhere = (visible: Visible | undefined, assignment: string): boolean =>
  visible === undefined ||
  visible.whole.size > 0 ||
  [...visible.parts.values()].some((assignments) => assignments.has(assignment));

type WithAgent = Pick<Tables, 'agent'>;

/** The condition on the table `agent`: it follows an environment of which something is visible. */
export const isSeen =
  ({ whole, parts }: Visible) =>
  (eb: ExpressionBuilder<WithAgent, 'agent'>): Expression<SqlBool> => {
    const environments = [...whole, ...parts.keys()];
    return environments.length === 0 ? eb.lit(false) : eb('agent.environment', 'in', environments);
  };

/** The condition on `agent` and the column of an assignment, which is '' or null for rows about the agent itself. */
export const isSeenAssignment = (
  { whole, parts }: Visible,
  column: 'history.assignment' | 'event.assignment',
): Expression<SqlBool> => {
  const eb = expressionBuilder<Tables, 'agent' | 'history' | 'event'>();
  const conditions = [
    ...(whole.size === 0 ? [] : [eb('agent.environment', 'in', [...whole])]),
    ...[...parts]
      .filter(([, assignments]) => assignments.size > 0)
      .map(([environment, assignments]) =>
        eb.and([eb('agent.environment', '=', environment), eb(column, 'in', [...assignments])]),
      ),
  ];
  return conditions.length === 0 ? eb.lit(false) : eb.or(conditions);
};
