import { defined } from '#bundles/defined';
import type { ErrorCode } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import { needsAttention } from '../../store/add-troubles.ts';
import type { Database } from '../../store/tables.ts';
import { isIn, type Part } from './part.ts';
import type { FailedCheck } from './what-runs-where.ts';

/** Maximum characters of a name, message or output. */
const MAX_TEXT = 4096;
const MAX_CHECKS = 50;
/** Codes of failures whose event has the failed checks; the last lines of a unit are one. */
export const WITH_CHECKS: readonly ErrorCode[] = ['CHECK_FAILED', 'UNIT_FAILED'];
/** Events read into memory at once, at most 64 KiB each. */
const MAX_EVENTS = 1000;

/**
 * The failed checks of assignments whose current state is CHECK_FAILED or UNIT_FAILED, by `agentAssignment`. Read from the events that set
 * those states, so that only current failures are read. Of more than 1,000 failures only the message is shown.
 */
export const readFailedChecks = async (
  db: Database,
  part: Part,
): Promise<ReadonlyMap<string, readonly FailedCheck[]>> => {
  const rows = await selectFailures(db, part).limit(MAX_EVENTS).execute();
  return new Map(rows.map((row) => [keyOf(row), checksIn(row.line)]));
};

/**
 * The failed checks of all failures, for grouping: without their output, and equal ones once in memory.
 * @param pageSize events read into memory at once
 */
export const readEveryFailedCheck = async (
  db: Database,
  part: Part,
  pageSize = MAX_EVENTS,
): Promise<ReadonlyMap<string, readonly FailedCheck[]>> => {
  const found = new Map<string, readonly FailedCheck[]>();
  const known = new Map<string, readonly FailedCheck[]>();
  let last: Row | undefined;
  do {
    const rows = await readPage(db, part, pageSize, last);
    for (const row of rows) {
      const checks = checksIn(row.line).map(({ name, message }) => ({ name, message }));
      const text = JSON.stringify(checks);
      const shared = known.get(text) ?? checks;
      known.set(text, shared);
      found.set(keyOf(row), shared);
    }
    last = rows.length < pageSize ? undefined : rows.at(-1);
  } while (last !== undefined);
  return found;
};

type Row = { readonly agent: string; readonly assignment: string; readonly line: string };

const keyOf = ({ agent, assignment }: Row): string => agentAssignment(agent, assignment);

const selectFailures = (db: Database, part: Part) =>
  db
    .selectFrom('assignment_state')
    .innerJoin('agent', 'agent.id', 'assignment_state.agent')
    .innerJoin('event', (join) =>
      join
        .onRef('event.agent', '=', 'assignment_state.agent')
        .onRef('event.life', '=', 'agent.life')
        .onRef('event.seq', '=', 'assignment_state.outcome_seq'),
    )
    .select(['assignment_state.agent', 'assignment_state.assignment', 'event.line'])
    .where('agent.revoked_at', 'is', null)
    .where('assignment_state.code', 'in', WITH_CHECKS)
    .where(needsAttention('assignment_state'))
    .where(isIn(part));

/** Events of failures in the order of agents and assignments. @param after the last one of the page before */
const readPage = async (db: Database, part: Part, limit: number, after?: Row): Promise<readonly Row[]> => {
  let query = selectFailures(db, part)
    .orderBy('assignment_state.agent')
    .orderBy('assignment_state.assignment')
    .limit(limit);
  if (after)
    query = query.where(({ eb, and, or }) =>
      or([
        eb('assignment_state.agent', '>', after.agent),
        and([
          eb('assignment_state.agent', '=', after.agent),
          eb('assignment_state.assignment', '>', after.assignment),
        ]),
      ]),
    );
  return await query.execute();
};

export const agentAssignment = (agent: string, assignment: string): string => `${agent} ${assignment}`;

/** Reads the checks from a signed event line. Its `detail` has no fixed schema, so everything is checked and limited. */
const checksIn = (line: string): readonly FailedCheck[] => {
  const { detail } = parseJson(line) as { readonly detail?: { readonly checks?: unknown } };
  if (!Array.isArray(detail?.checks)) return [];
  return detail.checks
    .filter(isFailedCheck)
    .slice(0, MAX_CHECKS)
    .map(({ name, message, output }) =>
      defined({
        name: name.slice(0, MAX_TEXT),
        message: message.slice(0, MAX_TEXT),
        output: typeof output === 'string' ? output.slice(0, MAX_TEXT) : undefined,
      }),
    );
};

const isFailedCheck = (
  check: unknown,
): check is { readonly name: string; readonly message: string; readonly output?: unknown } =>
  typeof check === 'object' &&
  check !== null &&
  'outcome' in check &&
  check.outcome === 'failed' &&
  'name' in check &&
  typeof check.name === 'string' &&
  'message' in check &&
  typeof check.message === 'string';
