import { type Kysely, sql } from 'kysely';

/** Condition on assignment_state, as in its index: what failed, drifted, or could not be checked. @param table name or alias of it */
export const needsAttention = (table: 'assignment_state' | 'state') => {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql<boolean>`(${column('outcome')} = 'failed' or ${column('outcome_type')} = 'rolled-back'
    or ${column('drifted')} = 1 or ${column('code')} = 'HEALTH_UNKNOWN')`;
};

/** Adds an index of the assignments in trouble, so that counting them does not read those of a fleet that complies. */
export const addAttention = async (db: Kysely<unknown>): Promise<void> => {
  await sql`create index assignment_state_trouble on assignment_state (agent, assignment)
    where (outcome = 'failed' or outcome_type = 'rolled-back' or drifted = 1
      or code = 'HEALTH_UNKNOWN')`.execute(db);
};

/** Adds an index of the reports that media brought, newest first, for the list of their arrivals. */
export const addArrivals = async (db: Kysely<unknown>): Promise<void> => {
  await sql`create index report_stick on report (number) where source = 'stick'`.execute(db);
};
