import { FleetError } from '#bundles/errors';
import { type OpenMedium, REPORTS_FOLDER } from '#bundles/medium/medium';
import { MAX_REPORT_BYTES, type SignedReport } from '#bundles/report/report';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';

/** Where one report lies on a medium; nothing of it is read yet. */
export type FoundReport = {
  /** Without its two endings. */
  readonly path: string;
  /** Which agent it says it is from: agentFolder('<site>/<agent>'). */
  readonly folder: string;
};

const REPORT = new RegExp(`^(${REPORTS_FOLDER}/([0-9a-f]{32})/[a-z0-9._-]{1,60})\\.(?:sigstore\\.json|ndjson)$`);
const MAX_FILES = 200_000;

/**
 * All of fleet/reports/<id>/<from>-<to>.{ndjson,sigstore.json} (docs/bundle-format.md section 10), sorted by path.
 * Other files are not ours.
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
  const found = new Map<string, FoundReport>();
  for (const file of files) {
    const [, path, folder] = REPORT.exec(file) ?? [];
    if (path !== undefined && folder !== undefined) found.set(path, { path, folder });
  }
  return [...found.values()];
};

/** @throws FleetError TOO_LARGE, UNSIGNED for events alone, MISSING_BLOB for a statement alone */
export const readReport = async (medium: OpenMedium, { path }: FoundReport): Promise<SignedReport> => {
  const [events, statement] = [`${path}.ndjson`, `${path}.sigstore.json`];
  const files = new Set(await medium.files(path.slice(0, path.lastIndexOf('/'))));
  if (!files.has(statement)) throw new FleetError('UNSIGNED', `${events} has no statement beside it`);
  if (!files.has(events)) throw new FleetError('MISSING_BLOB', `${statement} has no events beside it`);
  return {
    events: await medium.readFile(events, MAX_REPORT_BYTES),
    statement: await medium.readFile(statement, MAX_STATEMENT_BYTES),
  };
};
