import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { hashLine } from '#bundles/formats/events/event';
import { type FoundReport, findReports, readReport } from '#bundles/trust/reports/find-reports';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { claimedAgent } from '../../source/base/report-base.ts';
import type { AgentsOf } from '../../source/base/site-agents.ts';
import { newestReceipt } from '../newest-receipt.ts';

export type Acknowledged = {
  readonly reports: readonly (FoundReport & { readonly agent: string; readonly upTo: number })[];
  readonly notes: readonly string[];
};

/** One event of a report with its place in the chain. */
type Link = { readonly seq: number; readonly prev: Digest; readonly hash: Digest };

/**
 * Finds reports whose events the hub has: a receipt signed by the hub names the hash of the last event, and each event names the one before.
 * A report outside of that chain may be the only trace of a machine that was restored from a copy, so it is kept.
 */
export const acknowledgedReports = async (medium: OpenMedium, agentsOf: AgentsOf): Promise<Acknowledged> => {
  const notes: string[] = [];
  const byAgent = new Map<string, Own[]>();
  for (const found of await findReports(medium)) {
    try {
      const { statement, links } = await readOwn(medium, found);
      const agent = claimedAgent(statement, found.path);
      const own = byAgent.get(agent);
      if (own) own.push({ found, links });
      else byAgent.set(agent, [{ found, links }]);
    } catch (error) {
      if (!isFleetError(error) || error.exitCode === 6) throw error;
      notes.push(`${found.path} stays: it cannot be read as a report`);
    }
  }
  const reports: Acknowledged['reports'][number][] = [];
  for (const [agent, own] of byAgent) {
    const receipt = await newestReceipt(medium, agent, agentsOf);
    if (!receipt) {
      notes.push(`reports of ${agent} stay: there is no receipt for them that can be verified`);
      continue;
    }
    const known = new Map<number, Digest>([[receipt.to, receipt.head]]);
    const linked = linkBack(own, known);
    for (const { found, links } of own) {
      const last = links ? links.at(-1)?.seq : endOf(found.path);
      if ((last ?? Number.POSITIVE_INFINITY) > receipt.to) continue;
      if (!links || linked.has(found.path)) reports.push({ ...found, agent, upTo: receipt.to });
      else notes.push(`${found.path} stays: its events are not those that the receipt is for`);
    }
  }
  return { reports, notes };
};

type Own = {
  readonly found: FoundReport;
  /** undefined if its events are missing: an agent writes the statement last, so a removal was interrupted. */
  readonly links: readonly Link[] | undefined;
};

const readOwn = async (
  medium: OpenMedium,
  found: FoundReport,
): Promise<{ readonly statement: Buffer; readonly links: Own['links'] }> => {
  if (found.endings.has('ndjson')) {
    const { statement, events } = await readReport(medium, found);
    return { statement, links: linksOf(events) };
  }
  return {
    statement: await medium.readFile(`${found.path}.sigstore.json`, MAX_STATEMENT_BYTES),
    links: undefined,
  };
};

/** Number of the last event, from the report's name: '.../000000000001-000000000010'. */
const endOf = (path: string): number | undefined => {
  const end = /-(\d{12})$/.exec(path)?.[1];
  return end === undefined ? undefined : Number(end);
};

/**
 * Paths of reports connected to known events, directly or through others. Each report is judged once, when an event in it or before it
 * becomes known, so that many reports in any order take linear time. @param known is extended
 */
const linkBack = (reports: readonly Own[], known: Map<number, Digest>): ReadonlySet<string> => {
  const waiting = new Map<string, Own[]>();
  for (const own of reports)
    for (const event of eventsOf(own.links ?? [])) {
      const there = waiting.get(keyOf(event));
      if (there) there.push(own);
      else waiting.set(keyOf(event), [own]);
    }
  const linked = new Set<string>();
  const judged = new Set<Own>();
  const reached = [...known].map(([seq, hash]) => ({ seq, hash }));
  for (let event = reached.pop(); event; event = reached.pop()) {
    const key = keyOf(event);
    for (const own of waiting.get(key) ?? []) {
      if (judged.has(own)) continue;
      judged.add(own);
      if (!own.links || !isLinked(own.links, known)) continue;
      linked.add(own.found.path);
      for (const found of eventsOf(own.links)) {
        if (!known.has(found.seq)) reached.push(found);
        known.set(found.seq, found.hash);
      }
    }
    waiting.delete(key);
  }
  return linked;
};

type Event = { readonly seq: number; readonly hash: Digest };

/** The events of a report, and the one that it follows. */
const eventsOf = ([first, ...others]: readonly Link[]): readonly Event[] =>
  first ? [{ seq: first.seq - 1, hash: first.prev }, first, ...others] : [];

const keyOf = ({ seq, hash }: Event): string => `${seq} ${hash}`;

/** True if the report is a valid chain that contains or follows a known event and contradicts none. */
const isLinked = (links: readonly Link[], known: ReadonlyMap<number, Digest>): boolean => {
  const [first] = links;
  if (!first) return false;
  const all = [{ seq: first.seq - 1, hash: first.prev }, ...links];
  return (
    all.some(({ seq, hash }) => known.get(seq) === hash) &&
    all.every(({ seq, hash }) => !known.has(seq) || known.get(seq) === hash) &&
    links.every(({ seq, prev }, index) => {
      const before = all[index];
      return before?.hash === prev && before.seq === seq - 1;
    })
  );
};

/** Empty if the events are not a chain. */
const linksOf = (events: Buffer): readonly Link[] => {
  const lines = events.toString('utf8').split('\n').slice(0, -1);
  const links: Link[] = [];
  for (const line of lines) {
    const { seq, prev } = parseLine(line);
    if (typeof seq !== 'number' || typeof prev !== 'string') return [];
    links.push({ seq, prev: prev as Digest, hash: hashLine(line) });
  }
  return links;
};

const parseLine = (line: string): { readonly seq?: unknown; readonly prev?: unknown } => {
  try {
    return (JSON.parse(line) ?? {}) as { seq?: unknown; prev?: unknown };
  } catch {
    return {};
  }
};
