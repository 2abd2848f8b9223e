import { defined } from '#bundles/defined';
import type { ErrorCode } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import type { Database } from '../../store/tables.ts';
import { isIn, type Part } from './part.ts';
import type { FailedCheck } from './what-runs-where.ts';

/** Maximum characters of a name, message or output. */
const MAX_TEXT = 4096;
const MAX_CHECKS = 50;
/** Codes of failures whose event has the failed checks; the last lines of a unit are one. */
export const WITH_CHECKS: readonly ErrorCode[] = ['CHECK_FAILED', 'UNIT_FAILED'];
/** Events read into memory, at most 64 KiB each. For failures beyond that only the message is shown. */
const MAX_EVENTS = 1000;

/**
 * The failed checks of assignments whose current state is CHECK_FAILED or UNIT_FAILED, by `agentAssignment`. Read from the events that set
 * those states, so that only current failures are read.
 */
export const readFailedChecks = async (
  db: Database,
  part: Part,
): Promise<ReadonlyMap<string, readonly FailedCheck[]>> => {
  const query = db
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
    .limit(MAX_EVENTS);
  const rows = await query.where(isIn(part)).execute();
  return new Map(
    rows.map(({ agent, assignment, line }) => [agentAssignment(agent, assignment), checksIn(line)]),
  );
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
