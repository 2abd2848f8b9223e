import type { AgentRow, ReportRow, Tx } from '../store/tables.ts';

const FLOORS = ['root', 'site', 'release', 'lease', 'time'] as const;
type Floor = (typeof FLOORS)[number];

/**
 * Finds version floors that decreased between reports, which reveals a disk or machine restored from a copy (security:
 * "anti-rollback"). Reports arrive in any order, so each is compared with reports of earlier and of later events. A new root may
 * lower all floors but its own (docs/bundle-format.md section 8, step 3), and another channel has its own release numbers.
 * @returns one message per floor that fell
 */
export const findFallenFloors = async (
  tx: Tx,
  agent: AgentRow,
  report: ReportRow,
): Promise<readonly string[]> => {
  const fallen: string[] = [];
  for (const floor of FLOORS) {
    if (!isComparable(floor, agent, report)) continue;
    const column = `floor_${floor}` as const;
    let others = tx
      .selectFrom('report')
      .where('agent', '=', agent.id)
      .where('life', '=', agent.life)
      .where('apart', '=', 0);
    if (floor !== 'root') others = others.where('floor_root', '=', report.floor_root);
    if (isOfChannel(floor) && hasMoved(agent)) others = others.where('channel', '=', report.channel);
    const before = await others
      .where('last_seq', '<', report.last_seq)
      .select(({ fn }) => fn.max(column).as('floor'))
      .executeTakeFirst();
    const after = await others
      .where('last_seq', '>', report.last_seq)
      .select(({ fn }) => fn.min(column).as('floor'))
      .executeTakeFirst();
    const own = report[column];
    if (isBelow(own, before?.floor)) fallen.push(describe(floor, before?.floor, own));
    if (isBelow(after?.floor, own)) fallen.push(describe(floor, own, after?.floor));
  }
  return fallen;
};

const isOfChannel = (floor: Floor): boolean => floor === 'release' || floor === 'lease';

const hasMoved = (agent: AgentRow): boolean => agent.previous_environment !== null;

const isComparable = (floor: Floor, agent: AgentRow, report: ReportRow): boolean =>
  !isOfChannel(floor) || !hasMoved(agent) || report.channel !== null;

/** A version or a time; null if there are no reports. */
type Height = number | string | null | undefined;

const isBelow = (a: Height, b: Height): boolean =>
  a !== null && a !== undefined && b !== null && b !== undefined && a < b;

const describe = (floor: Floor, from: Height, to: Height): string =>
  `its ${floor} floor fell from ${from} to ${to}`;
