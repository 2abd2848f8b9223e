import { FleetError } from '../../errors.ts';
import { type OpenMedium, REPORTS_FOLDER } from '../../formats/medium/medium.ts';
import { MAX_STATEMENT_BYTES } from '../../formats/statements/envelope.ts';
import { MAX_REPORT_BYTES, type SignedReport } from './report.ts';

/** The location of one report on a medium, unread. */
export type FoundReport = {
  /** Path without the two suffixes. */
  readonly path: string;
  /** The folder of the agent that it claims to be from: agentFolder('<site>/<agent>'). */
  readonly folder: string;
  /** The suffixes of the files that exist. */
  readonly endings: ReadonlySet<string>;
};

const REPORT = new RegExp(
  `^(${REPORTS_FOLDER}/([0-9a-f]{32})/[a-z0-9._-]{1,60})\\.(sigstore\\.json|ndjson)$`,
);
const MAX_FILES = 200_000;

/**
 * All of fleet/reports/<id>/<from>-<to>.{ndjson,sigstore.json} (docs/bundle-format.md section 10), sorted by path. Ignores other
 * files.
 * @throws FleetError TOO_MANY
 */
export const findReports = async (medium: OpenMedium): Promise<readonly FoundReport[]> => {
  const files = await medium.files(REPORTS_FOLDER);
  if (files.length > MAX_FILES) {
    throw new FleetError(
      'TOO_MANY',
      `${medium.path} has ${files.length} files of reports, at most ${MAX_FILES} are read`,
    );
  }
  const parts = files.flatMap((file) => {
    const [, path, folder, ending] = REPORT.exec(file) ?? [];
    return path === undefined || folder === undefined || ending === undefined ? [] : { path, folder, ending };
  });
  return [...Map.groupBy(parts, ({ path }) => path)].map(([path, [first, second]]) => ({
    path,
    folder: first?.folder ?? '',
    endings: new Set([first, second].flatMap((part) => part?.ending ?? [])),
  }));
};

/** @throws FleetError TOO_LARGE, UNSIGNED for events alone, MISSING_BLOB for a statement alone */
export const readStatementOf = async (
  medium: OpenMedium,
  { path, endings }: FoundReport,
): Promise<Buffer> => {
  const [events, statement] = [`${path}.ndjson`, `${path}.sigstore.json`];
  if (!endings.has('sigstore.json')) throw new FleetError('UNSIGNED', `${events} has no statement beside it`);
  if (!endings.has('ndjson')) throw new FleetError('MISSING_BLOB', `${statement} has no events beside it`);
  return medium.readFile(statement, MAX_STATEMENT_BYTES);
};

/** @throws FleetError as readStatementOf */
export const readReport = async (medium: OpenMedium, found: FoundReport): Promise<SignedReport> => {
  const statement = await readStatementOf(medium, found);
  return { events: await medium.readFile(`${found.path}.ndjson`, MAX_REPORT_BYTES), statement };
};
