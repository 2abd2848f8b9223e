import { readFile, stat } from 'node:fs/promises';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { type OpenMedium, type OpenOptions, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import type { Source } from '../source.ts';
import type { Base, Reader } from '#bundles/formats/medium/choose-blobs';
import type { Bases } from './base.ts';
import { readMediumBases } from './medium-base.ts';
import { readNeeds } from './read-needs.ts';
import { readReleaseBase } from './release-base.ts';
import { type AgentReport, describeUnknown, readReport, reportBase } from './report-base.ts';
import { siteAgents, type AgentsOf } from './site-agents.ts';
import { readSiteReports } from './site-base.ts';
import { type Channel, parseChannel, parseName } from '#bundles/names';

/** Collects the results of all `--for`. */
type Found = {
  readonly reports: AgentReport[];
  readonly others: Base[];
  readonly sites: Set<string>;
  readonly asked: Map<Digest, string>;
  readonly notes: Set<string>;
};

/** Inputs of the lookup. */
type Look = {
  readonly source: Source;
  readonly agentsOf: AgentsOf;
  readonly open: OpenOptions;
  readonly signal: AbortSignal | undefined;
};

/**
 * Reads which blobs the recipients of a medium already have: from reports (a file, all on a returned medium, or the hub's),
 * from an earlier medium or from a release; and the blobs that imports requested.
 * @param targets the media to be filled, if they exist already
 * @param open opens sealed media
 * @throws FleetError MEDIUM_MISSING, MEDIUM_SEALED, MEDIUM_EMPTY, USAGE, CHANNEL_MISSING, and the errors of readReport and
 *   openMedium
 */
export const readBases = async (
  source: Source,
  names: readonly string[],
  targets: readonly OpenMedium[],
  now: Date,
  signal?: AbortSignal,
  open: OpenOptions = {},
): Promise<Bases> => {
  const agentsOf = siteAgents(source, now);
  const found: Found = { reports: [], others: [], sites: new Set(), asked: new Map(), notes: new Set() };
  for (const target of targets) await takeNeeds(found, target);
  for (const name of names.map(parseBase)) {
    signal?.throwIfAborted();
    await takeBase(found, { source, agentsOf, open, signal }, name);
  }
  const newest = newestReports(found.reports);
  const bases: Base[] = [];
  for (const report of newest) bases.push(await reportBase(source, report, signal));
  bases.push(...found.others);
  const sites = new Set([...found.sites, ...newest.map(({ name }) => name.split('/')[0] ?? '')]);
  return {
    bases,
    asked: found.asked,
    reporters: [...sites],
    readers: await readersOf(sites, agentsOf),
    floors: newest.map(({ name, agent, report }) => ({
      agent: name,
      channel: agent.channel,
      release: report.floors.release,
    })),
    notes: [...found.notes, ...bases.filter(({ unknown }) => unknown.length > 0).map(describeUnknown)],
  };
};

const takeBase = async (found: Found, look: Look, name: BaseName): Promise<void> => {
  const { source, agentsOf, signal } = look;
  switch (name.kind) {
    case 'site': {
      const { reports, notes } = await readSiteReports(source, name.site, agentsOf);
      found.sites.add(name.site);
      found.reports.push(...reports);
      for (const note of notes) found.notes.add(note);
      return;
    }
    case 'release':
      found.others.push(await readReleaseBase(source, name.channel, name.version, signal));
      return;
    case 'path':
      return takePath(found, look, name.path);
  }
};

const takePath = async (
  found: Found,
  { source, agentsOf, open, signal }: Look,
  path: string,
): Promise<void> => {
  const statement = await readStatement(path);
  if (statement) {
    found.reports.push(await readReport(agentsOf, statement, path));
    return;
  }
  await using medium = await openFiles(path, open);
  await takeNeeds(found, medium);
  const reports = await readReports(agentsOf, medium);
  found.reports.push(...reports);
  // Reports on a returned medium state what was imported; the table of contents only what was sent.
  if (reports.length > 0) return;
  if (!medium.medium) throw noInventoryError(path, medium.form);
  found.others.push(...(await readMediumBases(source, medium, medium.medium, signal)));
};

const noInventoryError = (path: string, form: OpenMedium['form']): FleetError =>
  form === 'parts'
    ? new FleetError(
        'MEDIUM_SEALED',
        `--for ${path}: it is sealed and holds no reports, so its content is unknown`,
        {
          hint: 'Name the release on it as release:<environment>/<cluster type>@<number>, or site:<site>; or open it with --identity',
        },
      )
    : new FleetError('MEDIUM_EMPTY', `${path} holds neither reports nor an earlier medium`);

/** A returned medium is usually filled again, so it is read twice; a map and a set remove the duplicates. */
const takeNeeds = async (found: Found, medium: OpenMedium): Promise<void> => {
  const needs = await readNeeds(medium);
  for (const [digest, agent] of needs.asked) found.asked.set(digest, agent);
  for (const note of needs.notes) found.notes.add(note);
};

/** A small file that begins like JSON; anything else is opened as a medium. */
export const readStatement = async (path: string): Promise<Buffer | undefined> => {
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

export const readReports = async (
  agentsOf: AgentsOf,
  medium: OpenMedium,
): Promise<readonly AgentReport[]> => {
  const statements = (await medium.files(REPORTS_FOLDER)).filter((path) => path.endsWith('.json'));
  const found: AgentReport[] = [];
  for (const path of statements) {
    const bytes = await medium.readFile(path, MAX_STATEMENT_BYTES);
    found.push(await readReport(agentsOf, bytes, `${medium.path}/${path}`));
  }
  return found;
};

/** The newest report of each agent: a replayed older report has no effect. */
export const newestReports = (reports: readonly AgentReport[]): readonly AgentReport[] => {
  const newest = new Map<string, AgentReport>();
  for (const one of reports) {
    const before = newest.get(one.name);
    if (!before || isNewer(one, before)) newest.set(one.name, one);
  }
  return [...newest.values()].toSorted((a, b) => compareBytes(a.name, b.name));
};

/** Of two reports up to the same event, the later one has the current `holds`. */
const isNewer = ({ report: a }: AgentReport, { report: b }: AgentReport): boolean =>
  a.to === b.to ? a.time > b.time : a.to > b.to;

const readersOf = async (sites: Iterable<string>, agentsOf: AgentsOf): Promise<readonly Reader[]> => {
  const readers: Reader[] = [];
  for (const site of sites) {
    const { agents } = await agentsOf(site);
    readers.push(...agents.map(({ name, channel }) => ({ agent: `${site}/${name}`, channel })));
  }
  return readers;
};

/** A parsed `--for`. */
type BaseName =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'site'; readonly site: string }
  | { readonly kind: 'release'; readonly channel: Channel; readonly version: number };

/** './site:...' names a file that begins with 'site:'. @throws FleetError USAGE, NAME_INVALID */
const parseBase = (text: string): BaseName => {
  if (text.startsWith('site:')) return { kind: 'site', site: parseName(text.slice('site:'.length), 'site') };
  if (!text.startsWith('release:')) return { kind: 'path', path: text };
  const [, channel, version] = /^release:([^@]+)@([1-9][0-9]{0,14})$/.exec(text) ?? [];
  if (channel !== undefined && version !== undefined)
    return { kind: 'release', channel: parseChannel(channel), version: Number(version) };
  throw new FleetError('USAGE', `--for ${text} names no release`, {
    hint: 'Write it as release:prod/kiosk@12, the number being the release that everybody has',
  });
};
