import { readFile, stat } from 'node:fs/promises';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { type OpenMedium, REPORTS_FOLDER } from '#bundles/medium/medium';
import { openMedium } from '#bundles/medium/open-medium';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import type { Source } from '../source/source.ts';
import type { Base, Bases } from './base.ts';
import { readMediumBase } from './medium-base.ts';
import { readNeeds } from './read-needs.ts';
import { type AgentReport, describeUnknown, readReport, reportBase } from './report-base.ts';

/**
 * What those who will get the medium have: from reports (a file, or all on a medium that came back) or from an earlier
 * medium, and what imports asked for. `target` is the medium to be filled, if it is there already.
 * @throws FleetError MEDIUM_MISSING, and those of reports and media that cannot be believed
 */
export const readBases = async (
  source: Source,
  paths: readonly string[],
  target: OpenMedium | undefined,
  now: Date,
  signal?: AbortSignal,
): Promise<Bases> => {
  const media: Base[] = [];
  const reports: AgentReport[] = [];
  const asked = new Set<Digest>();
  const notes: string[] = [];
  const asking = new Set<string>();
  const take = async (medium: OpenMedium): Promise<void> => {
    const needs = await readNeeds(medium);
    for (const digest of needs.asked) asked.add(digest);
    // The stick that came back is mostly the one that is filled again.
    for (const note of needs.notes) asking.add(note);
  };
  if (target) await take(target);
  for (const path of paths) {
    signal?.throwIfAborted();
    const statement = await readStatement(path);
    if (statement) {
      reports.push(await readReport(source, statement, path, now));
      continue;
    }
    await using medium = await openMedium(path);
    await take(medium);
    const found = await readReports(source, medium, now);
    reports.push(...found);
    // A stick that came back with reports: they say what was taken over, the table of contents only what was sent.
    if (found.length > 0) continue;
    if (!medium.medium) {
      throw new FleetError('MEDIUM_EMPTY', `${path} holds neither reports nor an earlier medium`);
    }
    media.push(await readMediumBase(source, medium, medium.medium, signal));
  }
  notes.push(...asking);
  const newest = newestReports(reports);
  const bases: Base[] = [];
  for (const report of newest) bases.push(await reportBase(source, report, signal));
  notes.push(...bases.filter((base) => base.unknown.length > 0).map(describeUnknown));
  return {
    bases: [...bases, ...media],
    asked,
    reporters: [...new Set(newest.map(({ name }) => name.split('/')[0] ?? ''))],
    floors: newest.map(({ name, agent, report }) => ({
      agent: name,
      channel: agent.channel,
      release: report.floors.release,
    })),
    notes,
  };
};

/** A small file that begins like JSON; anything else is opened as a medium. */
const readStatement = async (path: string): Promise<Buffer | undefined> => {
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > MAX_STATEMENT_BYTES) return undefined;
    const bytes = await readFile(path);
    return bytes.toString('latin1').trimStart().startsWith('{') ? bytes : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FleetError('MEDIUM_MISSING', `--for ${path}: there is no such file or folder`);
    throw toFleetError(error, `reading ${path}`);
  }
};

const readReports = async (
  source: Source,
  medium: OpenMedium,
  now: Date,
): Promise<readonly AgentReport[]> => {
  const statements = (await medium.files(REPORTS_FOLDER)).filter((path) => path.endsWith('.json'));
  const found: AgentReport[] = [];
  for (const path of statements) {
    const bytes = await medium.readFile(path, MAX_STATEMENT_BYTES);
    found.push(await readReport(source, bytes, `${medium.path}/${path}`, now));
  }
  return found;
};

/** An old report played again never counts against a newer one of the same agent. */
const newestReports = (reports: readonly AgentReport[]): readonly AgentReport[] => {
  const newest = new Map<string, AgentReport>();
  for (const one of reports) {
    const before = newest.get(one.name);
    if (!before || one.report.to > before.report.to) newest.set(one.name, one);
  }
  return [...newest.values()].toSorted((a, b) => compareBytes(a.name, b.name));
};
