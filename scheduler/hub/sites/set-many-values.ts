import { compareBytes, type Digest } from '#bundles/digest';
import { defined } from '#bundles/defined';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { type Change, type NotedChange, noteChange } from '../changes/note-change.ts';
import type { By, Store } from '../store/open-store.ts';
import { parts } from '../store/parts.ts';
import type { AgentRow, SiteRow, Tx } from '../store/tables.ts';
import { agentId } from './agent-record.ts';
import { agentUnknown, changeValues, siteMissing, type ValueChange } from './set-values.ts';
import type { HiddenAt } from './hidden-values.ts';
import { issueSite, type SiteSigner, siteValuesOf } from './issue-site.ts';
import { refuseWaiting } from './refuse-waiting.ts';
import { type SplitChanges, splitByStage } from './split-by-stage.ts';
import type { ValuesPolicies } from './values-policies.ts';
import {
  beginRollout,
  contentOf,
  markApplied,
  noteRollout,
  readPins,
  runningRollouts,
  type StoredRollout,
} from './values-rollout.ts';

/** One site's changes, all of which its next statement has. */
export type PlannedSite = {
  readonly site: string;
  readonly row: SiteRow;
  readonly after: SiteValues;
  /** For the audit log, and for people: of the site, or of one of its agents. Hidden values are withheld. */
  readonly changes: readonly Omit<Change, 'change'>[];
};

/** Records of sites and of their enrolled agents. */
export type SiteFacts = {
  readonly rows: ReadonlyMap<string, SiteRow>;
  readonly agents: ReadonlyMap<string, readonly AgentRow[]>;
};

/** Reads the sites that changes name, and their enrolled agents. @throws FleetError SITE_MISSING, AGENT_UNKNOWN */
export const readSites = async (
  db: Tx | Store['db'],
  changes: readonly Pick<ValueChange, 'site' | 'agent'>[],
): Promise<SiteFacts> => {
  const rows = new Map<string, SiteRow>();
  const agents: AgentRow[] = [];
  for (const names of parts([...new Set(changes.map(({ site }) => site))])) {
    for (const row of await db.selectFrom('site').selectAll().where('name', 'in', names).execute())
      rows.set(row.name, row);
    agents.push(
      ...(await db
        .selectFrom('agent')
        .selectAll()
        .where('site', 'in', names)
        .where('revoked_at', 'is', null)
        .execute()),
    );
  }
  const known = new Set(agents.map(({ id }) => id));
  for (const { site, agent } of changes) {
    if (!rows.has(site)) throw siteMissing(site);
    if (agent !== undefined && !known.has(agentId(site, agent))) throw agentUnknown(site, agent);
  }
  const enrolled = agents.filter(({ follower }) => follower === null);
  return { rows, agents: Map.groupBy(enrolled, ({ site }) => site) };
};

/**
 * The sites whose values would differ, sorted. @throws FleetError SITE_MISSING, AGENT_UNKNOWN
 */
export const planValues = async (
  db: Tx | Store['db'],
  fleet: string,
  changes: readonly ValueChange[],
  hidden: (agents: readonly AgentRow[]) => Promise<HiddenAt>,
): Promise<readonly PlannedSite[]> => {
  const facts = await readSites(db, changes);
  return planSites(facts, { fleet, hidden: await hidden([...facts.agents.values()].flat()) }, changes);
};

const planSites = (
  { rows, agents }: SiteFacts,
  { fleet, hidden }: { readonly fleet: string; readonly hidden: HiddenAt },
  changes: readonly ValueChange[],
): readonly PlannedSite[] => {
  const bySite = Map.groupBy(changes, ({ site }) => site);
  return [...bySite]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .flatMap(([site, own]) => {
      const row = rows.get(site);
      if (!row) return [];
      const before = siteValuesOf(row, fleet, site);
      const after = own.reduce(changeValues, before);
      const noted = decidedValues(before, after, hidden(agents.get(site) ?? []));
      return noted.length === 0 ? [] : [{ site, row, after, changes: noted }];
    });
};

export type ManyChanges = {
  readonly changes: readonly ValueChange[];
  readonly signer: SiteSigner;
  readonly now: Date;
  /** Name in the audit log; 'sites set' without. */
  readonly change?: string | undefined;
  /** Person and reason; undefined: those of the store. */
  readonly by?: By;
  /** Stages by environment (readValuesPolicies); without them every site has its change at once. */
  readonly policies?: ValuesPolicies;
  /** The approved proposal that is made. */
  readonly proposal?: Digest;
  /** Names that no release asks for are accepted, also when a later stage begins. */
  readonly allowUnknown?: boolean;
  /** Withdraws changes of other rollouts that wait at these sites. */
  readonly withdraw?: readonly string[] | undefined;
  /** Runs first in the transaction, and ends it by an error. */
  readonly within?: ((tx: Tx) => Promise<void>) | undefined;
};

export type ManySites = {
  /** The new rows of the sites that differ now. */
  readonly sites: readonly SiteRow[];
  /** Rollouts that bring the change to the other sites. */
  readonly rollouts: readonly StoredRollout[];
};

/**
 * Sets values of many sites in one transaction: each site that differs gets one statement, at once or with its stage; either all of this is stored, or nothing.
 * @throws FleetError SITE_MISSING, AGENT_UNKNOWN; VALUES_CHANGED for a value that waits for its stage already; or the error of signing
 */
export const setManyValues = (
  store: Store,
  { changes, signer, now, change = 'sites set', by = store.by, within, ...more }: ManyChanges,
): Promise<ManySites> =>
  store.transact(async (tx) => {
    await within?.(tx);
    for (const site of more.withdraw ?? []) await withdrawAt(tx, site, by, now);
    await refuseWaiting(tx, changes);
    const { fleet } = signer.root;
    const facts = await readSites(tx, changes);
    const pins = new Set((await readPins(tx)).keys());
    const { policies = new Map() } = more;
    const { atOnce, rollouts } = splitByStage(changes, { ...facts, fleet, pins, policies });
    const begun: StoredRollout[] = [];
    const first: ValueChange[] = [];
    for (const one of rollouts) {
      const { proposal, allowUnknown } = more;
      const terms = { fleet, kind: 'values' as const, change, ...by, ...one };
      const said = defined({ proposal, allowUnknown: allowUnknown ? (true as const) : undefined });
      const stored = await beginRollout(tx, { ...terms, ...said }, now);
      begun.push(stored);
      if (stored.progress.started.length > 0)
        first.push(...one.units.filter(({ stage }) => stage === 0).map(toChange));
    }
    const sites = await changeSites(tx, [...atOnce, ...first], facts, { signer, by, change, now });
    for (const { id } of begun)
      for (const { name, version } of sites) await markApplied(tx, id, name, { version, upTo: 1 });
    return { sites, rollouts: begun };
  });

/** How changes would reach their sites now. @throws FleetError SITE_MISSING, AGENT_UNKNOWN */
export const previewStages = async (
  { db, fleet }: Store,
  changes: readonly ValueChange[],
  policies: ValuesPolicies,
): Promise<SplitChanges> => {
  const pins = new Set((await readPins(db)).keys());
  return splitByStage(changes, { ...(await readSites(db, changes)), fleet, pins, policies });
};

/** Changes sites in a transaction: one statement a site, each change noted. */
export const changeSites = async (
  tx: Tx,
  changes: readonly ValueChange[],
  facts: SiteFacts,
  { signer, by, change, now }: Required<Pick<ManyChanges, 'signer' | 'by' | 'change' | 'now'>>,
): Promise<readonly SiteRow[]> => {
  const issued: SiteRow[] = [];
  const terms = {
    fleet: signer.root.fleet,
    hidden: await signer.readHidden([...facts.agents.values()].flat()),
  };
  for (const { site, after, changes: noted } of planSites(facts, terms, changes)) {
    const decided: NotedChange[] = [];
    for (const one of noted) decided.push(await noteChange(tx, { change, ...one }, by, now));
    issued.push(await issueSite(tx, site, { ...signer, by, decided }, now, after));
  }
  return issued;
};

type Placed = { readonly site: string; readonly agent: string };

/** The change of a place of a rollout. */
export const toChange = ({
  site,
  agent,
  content: { set, unset },
}: Placed & { readonly content: Pick<ValueChange, 'set' | 'unset'> }): ValueChange => ({
  site,
  ...defined({ agent: agent === '' ? undefined : agent }),
  set,
  unset,
});

/** Withdraws the changes by people that wait at a site for their stage. */
const withdrawAt = async (tx: Tx, site: string, by: By, now: Date): Promise<void> => {
  const running = new Map((await runningRollouts(tx, 'values')).map((one) => [one.id, one]));
  if (running.size === 0) return;
  const waiting = await tx
    .selectFrom('values_unit')
    .selectAll()
    .where('site', '=', site)
    .where('state', '=', 'waiting')
    .where('rollout', 'in', [...running.keys()])
    .execute();
  for (const unit of waiting) {
    const stored = running.get(unit.rollout);
    if (!stored || !('set' in contentOf(unit))) continue;
    await tx
      .updateTable('values_unit')
      .set({ state: 'withdrawn' })
      .where('rollout', '=', unit.rollout)
      .where('site', '=', site)
      .where('agent', '=', unit.agent)
      .execute();
    await noteRollout(tx, stored, 'withdraw', { by, now, new: { site, agent: unit.agent } });
  }
};
