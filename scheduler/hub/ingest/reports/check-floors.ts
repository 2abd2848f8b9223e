import type { AgentRow, ReportRow, Tx } from '../../store/tables.ts';

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
  const comparable = FLOORS.filter((floor) => isComparable(floor, agent, report));
  // One query for all floors: the reports of an agent are read once.
  const heights: Readonly<Record<string, Height>> = await tx
    .selectFrom('report')
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('apart', '=', 0)
    .select(({ fn, eb, and }) =>
      comparable.flatMap((floor) => {
        const others = [
          ...(floor === 'root' ? [] : [eb('floor_root', '=', report.floor_root)]),
          ...(isOfChannel(floor) && hasMoved(agent) ? [eb('channel', '=', report.channel)] : []),
        ];
        return [
          fn
            .max(`floor_${floor}`)
            .filterWhere(and([eb('last_seq', '<', report.last_seq), ...others]))
            .as(`before_${floor}`),
          fn
            .min(`floor_${floor}`)
            .filterWhere(and([eb('last_seq', '>', report.last_seq), ...others]))
            .as(`after_${floor}`),
        ];
      }),
    )
    .executeTakeFirstOrThrow();
  return comparable.flatMap((floor) => {
    const [before, own, after] = [
      heights[`before_${floor}`],
      report[`floor_${floor}`],
      heights[`after_${floor}`],
    ];
    return [
      ...(isBelow(own, before) ? [describe(floor, before, own)] : []),
      ...(isBelow(after, own) ? [describe(floor, own, after)] : []),
    ];
  });
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
