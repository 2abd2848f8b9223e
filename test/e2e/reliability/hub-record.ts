import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { type Event, GENESIS, hashLine } from '#bundles/formats/events/event';

/** What the hub's database holds of one agent, in the agent's order. */
export const eventsAtHub = (folder: string, agent: string): readonly Event[] =>
  linesAtHub(folder, agent).map((line) => JSON.parse(line) as Event);

/** Every word about the history of an agent that is not as it must be; empty: one whole chain, each event once. */
export const faultsAtHub = (folder: string, agent: string): readonly string[] => {
  const faults = [...brokenChain(linesAtHub(folder, agent))];
  const { alarms } = withHub(folder, (db) => ({
    alarms: db.prepare('SELECT count(*) FROM alarm').pluck().get() as number,
  }));
  return alarms > 0 ? [...faults, `${alarms} alarms`] : faults;
};

/** Every event that is missing, twice, or follows another than the one before it. */
export const brokenChain = (lines: readonly string[]): readonly string[] => {
  const faults: string[] = [];
  let prev: string = GENESIS;
  for (const [index, line] of lines.entries()) {
    const event = JSON.parse(line) as Event;
    if (event.seq !== index + 1) faults.push(`event ${index + 1} is number ${event.seq}`);
    if (event.prev !== prev) faults.push(`event ${event.seq} follows another than the one before it`);
    prev = hashLine(line);
  }
  return faults;
};

/**
 * What was reported more often than it happened: one package is begun once for each change of what is wanted of it, and reported as
 * healthy again after each failure.
 */
export const toldTwice = (events: readonly Event[]): readonly string[] => {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const { type, assignment, package: digest, siteValues, release, outcome } of events) {
    if (type !== 'package') continue;
    const what = [assignment, digest, siteValues, release?.version].join(' ');
    if (outcome === 'failed') seen.delete(what);
    else if (seen.has(what)) twice.push(what);
    else seen.add(what);
  }
  return twice;
};

const linesAtHub = (folder: string, agent: string): readonly string[] =>
  withHub(
    folder,
    (db) =>
      db.prepare('SELECT line FROM event WHERE agent = ? ORDER BY life, seq').pluck().all(agent) as string[],
  );

const withHub = <T>(folder: string, read: (db: SQLite.Database) => T): T => {
  const db = new SQLite(join(folder, 'hub', 'hub.db'), { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
};
