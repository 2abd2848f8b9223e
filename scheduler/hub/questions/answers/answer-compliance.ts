import { sql } from 'kysely';
import { formatTime, HOUR_MS, parseTime, type Timestamp } from '#bundles/time';
import { seesWhole, type Visible } from '../../people/visible.ts';
import type { ComplianceRow, Database } from '../../store/tables.ts';
import type { ComplianceCounts } from '../status/count-compliance.ts';

export type ComplianceQuestion = {
  readonly environment: string | undefined;
  readonly since: Timestamp;
  readonly visible: Visible | undefined;
};

/** Agents of an environment at a time. */
export type ComplianceSample = ComplianceCounts & { readonly at: Timestamp };

export type ComplianceAnswer = {
  readonly at: Timestamp;
  /** Hours between two samples; each is the last of its step. */
  readonly stepHours: number;
  readonly environments: readonly {
    readonly environment: string;
    /** The oldest first. */
    readonly samples: readonly ComplianceSample[];
  }[];
};

/** Samples of an environment in one answer: about as many as a chart has pixels for. */
const SAMPLES = 180;
const STEPS = [1, 2, 3, 4, 6, 8, 12, 24, 48] as const;

/** The hourly counts of each environment that the reader may see whole. An hour in which no replica led has none. */
export const answerCompliance = async (
  db: Database,
  { environment, since, visible }: ComplianceQuestion,
  now: Date,
): Promise<ComplianceAnswer> => {
  const first = Math.floor(parseTime(since).getTime() / HOUR_MS);
  const hours = Math.max(1, now.getTime() / HOUR_MS - first);
  const step = STEPS.find((one) => hours / one <= SAMPLES) ?? 48;
  const rows = await readSamples(db, { first, step, environment });
  const seen = rows.filter((row) => seesWhole(visible, row.environment));
  return {
    at: formatTime(now),
    stepHours: step,
    environments: [...Map.groupBy(seen, (row) => row.environment)].map(([name, samples]) => ({
      environment: name,
      samples: samples.map(toSample),
    })),
  };
};

type Asked = {
  readonly first: number;
  readonly step: number;
  readonly environment: string | undefined;
};

/** The samples of the last hour of each step. The leader counts all environments in one hour, so the hours are found first. */
const readSamples = async (
  db: Database,
  { first, step, environment }: Asked,
): Promise<readonly ComplianceRow[]> => {
  const hours = await db
    .selectFrom('compliance')
    .select(({ fn }) => fn.max('hour').as('hour'))
    .where('hour', '>=', first)
    .groupBy(sql`hour / ${sql.lit(step)}`)
    .execute();
  if (hours.length === 0) return [];
  let query = db
    .selectFrom('compliance')
    .selectAll()
    .where(
      'hour',
      'in',
      hours.map(({ hour }) => hour),
    )
    .orderBy('environment')
    .orderBy('hour');
  if (environment !== undefined) query = query.where('environment', '=', environment);
  return await query.execute();
};

const toSample = ({ hour, never_reported: neverReported, ...row }: ComplianceRow): ComplianceSample => ({
  at: formatTime(new Date(hour * HOUR_MS)),
  complies: row.complies,
  waiting: row.waiting,
  differs: row.differs,
  late: row.late,
  silent: row.silent,
  neverReported,
});
