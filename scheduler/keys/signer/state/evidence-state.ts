import type SQLite from 'better-sqlite3';
import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';
import type { SiteAgent } from '#bundles/formats/statements/predicates';

/** An agent of the newest site statement that the signer signed. */
export type KnownAgent = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly channel: Channel;
  /** SPKI PEM. */
  readonly key: string;
  /** When the signer first signed a site statement with this key in this environment, Unix milliseconds. */
  readonly since: number;
};

/** State of one assignment by the reports that were shown to the signer. `ok`: its last step succeeded and was checked. */
export type ShownAssignment = {
  readonly package: Digest | null;
  readonly ok: boolean;
  readonly drifted: boolean;
};

/** The newest report of an agent that was shown, and what the unbroken events up to it say. */
export type ReportedState = {
  readonly agent: string;
  /** SPKI PEM of the key that signed it. */
  readonly key: string;
  /** Its last event, and the hash of that. */
  readonly seq: number;
  readonly head: Digest;
  /** Release of its newest import; null: none is among the events. */
  readonly release: { readonly channel: string; readonly version: number } | null;
  /** When the agent wrote it, Unix milliseconds; 0 if the agent did not trust its clock. */
  readonly writtenAt: number;
  readonly states: Readonly<Record<string, ShownAssignment>>;
};

/** The packages of a bundle by assignment. */
export type Packages = Readonly<Record<string, Digest>>;

/** A release of an environment of the chain: the bundle that it names and the shared digest of its statement. */
export type NamedBundle = {
  readonly channel: string;
  readonly version: number;
  readonly bundle: Digest;
  readonly shared: Digest | null;
};

/** State of a signer about agents and their reports. Writes are for SignerState.commit. */
export type EvidenceState = {
  readonly agentsOf: (environment: string) => readonly KnownAgent[];
  readonly agent: (name: string) => KnownAgent | undefined;
  readonly word: (agent: string) => ReportedState | undefined;
  readonly heads: () => readonly Pick<ReportedState, 'agent' | 'key' | 'seq'>[];
  /** The last event that a receipt of this signer acknowledged; 0: none. */
  readonly acknowledged: (agent: string) => number;
  readonly namedBy: (channel: string, version: number) => readonly NamedBundle[];
  readonly packages: (bundle: Digest) => Packages | undefined;
  /** Replaces the agents of a site. What was known of an agent with another key is dropped. */
  readonly setAgents: (site: string, agents: readonly SiteAgent[], at: number) => void;
  readonly setWord: (word: ReportedState) => void;
  readonly acknowledge: (agent: string, seq: number) => void;
  readonly addNamed: (named: readonly NamedBundle[]) => void;
  readonly addPackages: (bundle: Digest, packages: Packages) => void;
  /** Records that a candidate gave a released bundle again. */
  readonly addTried: (tried: RestatedBundle) => void;
  readonly isTried: (tried: RestatedBundle) => boolean;
  /** Every environment in which a key of an agent, SPKI PEM, ever was by the site statements that this signer signed. */
  readonly livedIn: (key: string) => readonly string[];
};

/** A bundle of a channel, and the shared digest of a candidate that gave it again after its release. */
export type RestatedBundle = { readonly channel: string; readonly bundle: Digest; readonly shared: Digest };

export const EVIDENCE_SCHEMA = `
  CREATE TABLE agent (agent TEXT PRIMARY KEY, site TEXT NOT NULL, environment TEXT NOT NULL, cluster_type TEXT NOT NULL, key TEXT NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX agent_environment ON agent (environment);
  CREATE TABLE word (agent TEXT PRIMARY KEY, key TEXT NOT NULL, seq INTEGER NOT NULL, head TEXT NOT NULL, release TEXT NOT NULL, written_at INTEGER NOT NULL, states TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE acknowledged (agent TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE named (channel TEXT, version INTEGER, bundle TEXT, shared TEXT, PRIMARY KEY (channel, version, bundle)) WITHOUT ROWID;
  CREATE TABLE packages (bundle TEXT PRIMARY KEY, packages TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE promoted_before (environment TEXT, shared TEXT, PRIMARY KEY (environment, shared)) WITHOUT ROWID;
  INSERT INTO promoted_before SELECT environment, shared FROM promoted;
  PRAGMA user_version = 3;
`;

export const RESTATED_SCHEMA = `
  CREATE TABLE tried (channel TEXT, bundle TEXT, shared TEXT, PRIMARY KEY (channel, bundle, shared)) WITHOUT ROWID;
  PRAGMA user_version = 4;
`;

/** Kept also of agents that were revoked: leaving a site and coming back as another is a move. */
export const PAST_AGENTS_SCHEMA = `
  CREATE TABLE lived (key TEXT, environment TEXT, PRIMARY KEY (key, environment)) WITHOUT ROWID;
  INSERT INTO lived SELECT DISTINCT key, environment FROM agent;
  PRAGMA user_version = 5;
`;

type AgentRow = Omit<KnownAgent, 'channel'> & { environment: string; cluster_type: string };
type WordRow = Omit<ReportedState, 'release' | 'writtenAt' | 'states'> & {
  release: string;
  written_at: number;
  states: string;
};

export const openEvidence = (db: SQLite.Database): EvidenceState => {
  const columns = 'agent, environment, cluster_type, key, since';
  const within = db.prepare(`SELECT ${columns} FROM agent WHERE environment = ? ORDER BY agent`);
  const one = db.prepare(`SELECT ${columns} FROM agent WHERE agent = ?`);
  const ofSite = db.prepare('SELECT agent, key FROM agent WHERE site = ?');
  const add = db.prepare(
    'INSERT INTO agent VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent) DO UPDATE SET since = CASE WHEN environment = excluded.environment THEN since ELSE excluded.since END, environment = excluded.environment, cluster_type = excluded.cluster_type',
  );
  const lived = db.prepare('SELECT environment FROM lived WHERE key = ? ORDER BY environment').pluck();
  const addLived = db.prepare('INSERT OR IGNORE INTO lived VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM agent WHERE agent = ?');
  const word = db.prepare('SELECT * FROM word WHERE agent = ?');
  const heads = db.prepare('SELECT agent, key, seq FROM word ORDER BY agent');
  const setWord = db.prepare('INSERT OR REPLACE INTO word VALUES (?, ?, ?, ?, ?, ?, ?)');
  const dropWord = db.prepare('DELETE FROM word WHERE agent = ?');
  const acknowledged = db.prepare('SELECT seq FROM acknowledged WHERE agent = ?').pluck();
  const acknowledge = db.prepare(
    'INSERT INTO acknowledged VALUES (?, ?) ON CONFLICT (agent) DO UPDATE SET seq = max(seq, excluded.seq)',
  );
  const dropAcknowledged = db.prepare('DELETE FROM acknowledged WHERE agent = ?');
  const named = db.prepare('SELECT * FROM named WHERE channel = ? AND version = ?');
  const addNamed = db.prepare('INSERT OR IGNORE INTO named VALUES (?, ?, ?, ?)');
  const packages = db.prepare('SELECT packages FROM packages WHERE bundle = ?').pluck();
  const addTried = db.prepare('INSERT OR IGNORE INTO tried VALUES (?, ?, ?)');
  const isTried = db.prepare('SELECT 1 FROM tried WHERE channel = ? AND bundle = ? AND shared = ?').pluck();
  const addPackages = db.prepare('INSERT OR IGNORE INTO packages VALUES (?, ?)');
  return {
    agentsOf: (environment) => (within.all(environment) as AgentRow[]).map(toAgent),
    agent: (name) => {
      const row = one.get(name) as AgentRow | undefined;
      return row && toAgent(row);
    },
    word: (agent) => {
      const row = word.get(agent) as WordRow | undefined;
      return row && toWord(row);
    },
    heads: () => heads.all() as Pick<ReportedState, 'agent' | 'key' | 'seq'>[],
    acknowledged: (agent) => (acknowledged.get(agent) as number | undefined) ?? 0,
    namedBy: (channel, version) => named.all(channel, version) as NamedBundle[],
    packages: (bundle) => {
      const text = packages.get(bundle) as string | undefined;
      return text === undefined ? undefined : (JSON.parse(text) as Packages);
    },
    setAgents: (site, agents, at) => {
      const keys = new Map(agents.map(({ name, key }) => [`${site}/${name}`, key]));
      for (const { agent, key } of ofSite.all(site) as { agent: string; key: string }[]) {
        if (keys.get(agent) === key) continue;
        for (const statement of [remove, dropWord, dropAcknowledged]) statement.run(agent);
      }
      for (const { name, key, channel } of agents) {
        add.run(`${site}/${name}`, site, channel.environment, channel.clusterType, key, at);
        addLived.run(key, channel.environment);
      }
    },
    setWord: ({ agent, key, seq, head, release, writtenAt, states }) => {
      setWord.run(agent, key, seq, head, JSON.stringify(release), writtenAt, JSON.stringify(states));
    },
    acknowledge: (agent, seq) => {
      acknowledge.run(agent, seq);
    },
    addNamed: (all) => {
      for (const { channel, version, bundle, shared } of all) addNamed.run(channel, version, bundle, shared);
    },
    addTried: ({ channel, bundle, shared }) => {
      addTried.run(channel, bundle, shared);
    },
    isTried: ({ channel, bundle, shared }) => isTried.get(channel, bundle, shared) !== undefined,
    livedIn: (key) => lived.all(key) as string[],
    addPackages: (bundle, all) => {
      addPackages.run(bundle, JSON.stringify(all));
    },
  };
};

const toAgent = ({ environment, cluster_type: clusterType, ...row }: AgentRow): KnownAgent => ({
  ...row,
  channel: { environment, clusterType },
});

const toWord = ({ release, states, written_at: writtenAt, ...row }: WordRow): ReportedState => ({
  ...row,
  writtenAt,
  release: JSON.parse(release) as ReportedState['release'],
  states: JSON.parse(states) as ReportedState['states'],
});
