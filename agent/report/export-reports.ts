import { stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { agentFolder, reportName, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { namesIn } from '#bundles/formats/medium/names-in';
import type { SigningKey } from '#bundles/trust/keys/key';
import { removeFromMedium, writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import type { Agent } from '../store/agent.ts';
import { fullName } from '../store/identity.ts';
import { signedBatches } from './signed-batches.ts';

export type ExportedReport = {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** Paths on the medium. */
  readonly files: readonly [string, string];
};

/**
 * Writes all unacknowledged events onto a medium, signed, oldest first. Repeated exports write the same ranges until a receipt
 * arrives.
 * @throws FleetError NOT_ENROLLED, MEDIUM_MISSING, MEDIUM_INVALID for a link on the way, USAGE for a tar, DISK_FULL, PERMISSION
 */
export const exportReports = async (
  agent: Agent,
  key: SigningKey,
  path: string,
): Promise<readonly ExportedReport[]> => {
  await checkDirectory(path);
  const folder = `${REPORTS_FOLDER}/${agentFolder(fullName(agent.identity))}`;
  const reports: ExportedReport[] = [];
  for await (const { from, to, signed } of signedBatches(agent, key)) {
    const name = `${folder}/${reportName(from, to)}`;
    const files = [`${name}.ndjson`, `${name}.sigstore.json`] as const;
    // The signature is written last, so that it never exists without its events.
    await writeOntoMedium(path, files[0], signed.events);
    await writeOntoMedium(path, files[1], signed.statement);
    reports.push({ from, to, bytes: signed.events.byteLength, files });
  }
  await removeSuperseded(path, folder, reports);
  return reports;
};

const checkDirectory = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    throw new FleetError('MEDIUM_MISSING', `there is no medium at ${path}`, {
      hint: 'Check that the stick is mounted',
    });
  }
  if (!found.isDirectory()) {
    throw new FleetError('USAGE', `${path} is a file, and reports are written into a directory`, {
      hint: 'Name the directory of the medium',
    });
  }
};

const RANGE = /^(\d{12})-(\d{12})\.(?:ndjson|sigstore\.json)$/;

/** Removes files of earlier exports by this agent whose events are all in the new one. */
const removeSuperseded = async (
  path: string,
  folder: string,
  reports: readonly ExportedReport[],
): Promise<void> => {
  const [first, last] = [reports[0]?.from, reports.at(-1)?.to];
  if (first === undefined || last === undefined) return;
  const fresh = new Set<string>(reports.flatMap(({ files }) => files));
  for (const name of await Array.fromAsync(namesIn(path, folder))) {
    const file = `${folder}/${name}`;
    const range = RANGE.exec(name);
    if (!range || fresh.has(file)) continue;
    if (Number(range[1]) >= first && Number(range[2]) <= last) await removeFromMedium(path, file);
  }
};
