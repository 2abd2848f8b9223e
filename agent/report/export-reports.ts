import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { agentFolder, REPORTS_FOLDER } from '#bundles/medium/medium';
import { MAX_REPORT_BYTES, signReport } from '#bundles/report/report';
import type { ReportPredicate } from '#bundles/statements/predicates';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/key';
import { writeOntoMedium } from '../acquire/write-onto-medium.ts';
import type { Agent } from '../agent.ts';
import { checkAborted } from '../journal/boundary.ts';
import { heldBundles } from '../store/bundles.ts';
import { fullName } from '../store/identity.ts';
import { readFloors } from '../store/trust.ts';
import { type OutboxLine, readOutbox } from './outbox.ts';

export type ExportedReport = {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** Paths on the medium. */
  readonly files: readonly [string, string];
};

/** Events of one signature. */
const MAX_EVENTS = 1000;

/**
 * Writes every event that the hub has not acknowledged onto a medium, signed, oldest first. Doing it again writes the
 * same ranges again, until a receipt comes back.
 * @throws FleetError NOT_ENROLLED, MEDIUM_MISSING, USAGE for a tar, DISK_FULL, PERMISSION
 */
export const exportReports = async (
  agent: Agent,
  key: SigningKey,
  path: string,
): Promise<readonly ExportedReport[]> => {
  await checkDirectory(path);
  const batches = inBatches(readOutbox(agent.state));
  const common = await commonFields(agent);
  const folder = `${REPORTS_FOLDER}/${agentFolder(fullName(agent.identity))}`;
  const reports: ExportedReport[] = [];
  for (const lines of batches) {
    checkAborted(agent.signal);
    const [first, last] = [lines[0] as OutboxLine, lines.at(-1) as OutboxLine];
    const events = Buffer.from(lines.map(({ line }) => `${line}\n`).join(''));
    const range = { from: first.seq, to: last.seq };
    const chain = { firstPrev: prevOf(first), lastHash: last.hash };
    const signed = await signReport(events, { ...common, ...range, ...chain }, key);
    const name = `${folder}/${padded(first.seq)}-${padded(last.seq)}`;
    const files = [`${name}.ndjson`, `${name}.sigstore.json`] as const;
    // The signature last: where it is, the events it is about are too.
    await writeOntoMedium(path, files[0], signed.events);
    await writeOntoMedium(path, files[1], signed.statement);
    reports.push({ ...range, bytes: events.byteLength, files });
  }
  await removeSuperseded(path, folder, reports);
  return reports;
};

const checkDirectory = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    throw new FleetError('MEDIUM_MISSING', `there is no medium at ${path}`, {
      hint: 'Is the stick mounted?',
    });
  }
  if (!found.isDirectory()) {
    throw new FleetError('USAGE', `${path} is a file, and reports are written into a directory`, {
      hint: 'Give the directory of the stick',
    });
  }
};

const commonFields = async (
  agent: Agent,
): Promise<Omit<ReportPredicate, 'from' | 'to' | 'firstPrev' | 'lastHash'>> => {
  const floors = readFloors(agent.state);
  if (floors.root === 0) {
    throw new FleetError(
      'NOT_ENROLLED',
      'this agent has not accepted any medium yet, so nobody would believe it',
      {
        hint: 'Import the answer to the enrolment first; what happened until then is kept and reported after it',
      },
    );
  }
  return {
    fleet: agent.identity.fleet,
    agent: fullName(agent.identity),
    bootId: agent.edge.bootId,
    time: formatTime(agent.edge.now()),
    clockTrusted: agent.edge.clockTrusted,
    floors,
    holds: await heldBundles(agent.state),
  };
};

/** Full batches first, so that only the last one differs when more has happened since. */
const inBatches = (lines: readonly OutboxLine[]): readonly (readonly OutboxLine[])[] => {
  const batches: OutboxLine[][] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(line.line) + 1;
    const current = batches.at(-1);
    if (!current || current.length === MAX_EVENTS || bytes + size > MAX_REPORT_BYTES) {
      batches.push([line]);
      bytes = size;
    } else {
      current.push(line);
      bytes += size;
    }
  }
  return batches;
};

const prevOf = ({ line }: OutboxLine): Digest => (JSON.parse(line) as { prev: Digest }).prev;

const padded = (seq: number): string => String(seq).padStart(12, '0');

const RANGE = /^(\d{12})-(\d{12})\.(?:ndjson|sigstore\.json)$/;

/** An earlier export of ours onto this medium whose every event is in the new one. */
const removeSuperseded = async (
  path: string,
  folder: string,
  reports: readonly ExportedReport[],
): Promise<void> => {
  const [first, last] = [reports[0]?.from, reports.at(-1)?.to];
  if (first === undefined || last === undefined) return;
  const fresh = new Set<string>(reports.flatMap(({ files }) => files));
  for (const name of await readdir(join(path, folder))) {
    const file = `${folder}/${name}`;
    const range = RANGE.exec(name);
    if (!range || fresh.has(file)) continue;
    if (Number(range[1]) >= first && Number(range[2]) <= last) await rm(join(path, file), { force: true });
  }
};
