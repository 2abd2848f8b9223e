import { sql } from 'kysely';
import type { AgentRow, ReportRow, Tx } from '../../store/tables.ts';
import { valuesTable } from '../../store/values-table.ts';

const FLOORS = ['root', 'site', 'release', 'lease', 'time'] as const;
type Floor = (typeof FLOORS)[number];

/** A report, and its agent as it was before. */
export type FloorQuestion = { readonly agent: AgentRow; readonly row: ReportRow };

/**
 * Finds version floors that decreased between reports, which reveals a disk or machine restored from a copy (security:
 * "anti-rollback"). Reports arrive in any order, so each is compared with reports of earlier and of later events. A new root may
 * lower all floors but its own (docs/bundle-format.md section 8, step 3), and another channel has its own release numbers.
 * @param reports of different agents @returns messages by agent, one for each floor that fell
 */
export const findFallenFloors = async (
  tx: Tx,
  reports: readonly FloorQuestion[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const heights = await readHeights(tx, reports);
  return new Map(
    reports.map(({ agent, row }) => [agent.id, fallen(agent, row, heights.get(agent.id) ?? {})]),
  );
};

type Heights = Readonly<Record<string, Height>>;

const fallen = (agent: AgentRow, report: ReportRow, heights: Heights): readonly string[] =>
  FLOORS.filter((floor) => isComparable(floor, agent, report)).flatMap((floor) => {
    const [before, own, after] = [
      heights[`before_${floor}`],
      report[`floor_${floor}`],
      heights[`after_${floor}`],
    ];
    return [
      ...(isBelow(own, before) ? [describeFloor(floor, before, own)] : []),
      ...(isBelow(after, own) ? [describeFloor(floor, own, after)] : []),
    ];
  });

/** One query for all floors: the reports of an agent are read once. */
const readHeights = async (
  tx: Tx,
  reports: readonly FloorQuestion[],
): Promise<ReadonlyMap<string, Heights>> => {
  const asked = reports.map(({ agent, row }) => [
    row.agent,
    row.life,
    row.last_seq,
    row.floor_root,
    hasMoved(agent) ? row.channel : null,
  ]);
  const heights = FLOORS.flatMap((floor) => {
    const others = sql`${sql.raw(floor === 'root' ? '' : 'and report.floor_root = asked.root')}
      ${sql.raw(isOfChannel(floor) ? 'and (asked.channel is null or report.channel = asked.channel)' : '')}`;
    const column = sql.ref(`report.floor_${floor}`);
    return [
      sql`max(${column}) filter (where report.last_seq < asked.last ${others}) as ${sql.ref(`before_${floor}`)}`,
      sql`min(${column}) filter (where report.last_seq > asked.last ${others}) as ${sql.ref(`after_${floor}`)}`,
    ];
  });
  const { rows } = await sql<Heights & { readonly agent: string }>`
    with asked(agent, life, last, root, channel) as (${valuesTable(['text', 'bigint', 'bigint', 'bigint', 'text'], asked)})
    select asked.agent, ${sql.join(heights)}
    from asked cross join report
    where report.agent = asked.agent and report.life = asked.life and report.apart = 0
    group by asked.agent`.execute(tx);
  return new Map(rows.map((row) => [row.agent, row]));
};

const isOfChannel = (floor: Floor): boolean => floor === 'release' || floor === 'lease';

const hasMoved = (agent: AgentRow): boolean => agent.previous_environment !== null;

const isComparable = (floor: Floor, agent: AgentRow, report: ReportRow): boolean =>
  !isOfChannel(floor) || !hasMoved(agent) || report.channel !== null;

/** A version or a time; null if there are no reports. */
type Height = number | string | null | undefined;

const isBelow = (a: Height, b: Height): boolean =>
  a !== null && a !== undefined && b !== null && b !== undefined && a < b;

const describeFloor = (floor: Floor, from: Height, to: Height): string =>
  `its ${floor} floor fell from ${from} to ${to}`;
