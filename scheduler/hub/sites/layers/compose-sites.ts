import { defined } from '#bundles/defined';
import { FleetError, isFleetError, type Place } from '#bundles/errors';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { formatTime } from '#bundles/time';
import { type Change, type NotedChange, noteChange } from '../../changes/note-change.ts';
import type { Hub } from '../../hub.ts';
import { parts } from '../../store/parts.ts';
import type { AgentRow, SiteLayersRow, SiteRow, Tx } from '../../store/tables.ts';
import { channelsOf } from '../agent-record.ts';
import { hiddenAt, type Hiding, readHiddenBefore } from '../hidden-values.ts';
import { findOlder } from '../find-older.ts';
import { issueSite, siteValuesOf } from '../issue-site.ts';
import { markApplied } from '../values-rollout.ts';
import { refuseOlder } from '../refuse-older.ts';
import type { SiteSigner } from '../site-signer.ts';
import { type WriteSiteOptions, writeSites } from '../write-site.ts';
import { differencesBySite, findDifferences } from './find-differences.ts';
import { findLacking } from './find-lacking.ts';
import { type PlannedComposition, type SiteFacts, withComposed } from './plan-sites.ts';
import type { Turns, WaitingAgent } from './take-turns.ts';
import type { ReleasedChannelLayers } from '../read-channel-layers.ts';
import { noteLayers } from './refuse-older-layers.ts';
import { decideComposition, readNewestLayers, reasonOf } from './decide-composition.ts';

/** Why a site keeps the values that it has, or a package is held there, as the database has it. */
type HeldReason = Pick<FleetError, 'code' | 'message'> & {
  readonly at?: Place;
  readonly hint?: string;
  /**
   * `package`: it takes its values, and the package that needs this one is not applied. `nothing`: the repository declares it otherwise. Absent: it
   * keeps the values that it has.
   */
  readonly holds?: 'package' | 'nothing';
};

/** Reasons that hold a site or packages at it, and its differences from the repository. */
export type HeldSite = {
  readonly since: string;
  /** Why it keeps the values that it has. */
  readonly reasons: readonly FleetError[];
  /** Values without which a package is not applied there. */
  readonly lacking: readonly FleetError[];
  /** Differences between its enrolment and what the repository declares, which hold nothing. */
  readonly differs: readonly FleetError[];
};

export type ComposedSites = {
  /** With the number of the new statement; in a dry run of the present one. */
  readonly changed: readonly {
    readonly site: string;
    readonly version: number;
    readonly changes: readonly Omit<Change, 'change'>[];
  }[];
  readonly held: readonly { readonly site: string; readonly reasons: readonly FleetError[] }[];
  /** Sites at which a value that a package needs is missing, or one of a person does not fit: the package waits there. */
  readonly lacking: readonly { readonly site: string; readonly reasons: readonly FleetError[] }[];
  /** Agents whose turn it is not yet, and those of a rollout that was taken back. */
  readonly waiting: readonly WaitingAgent[];
  /** Differences between repository and enrolment, idle layers, channels that could not be read. */
  readonly advice: readonly FleetError[];
};

export type ComposeOptions = {
  readonly now: Date;
  readonly dryRun?: boolean;
  /** Only these sites. */
  readonly only?: readonly string[];
  /** Sites that may be without a declaration that they had. */
  readonly undeclared?: readonly string[];
  readonly signal?: AbortSignal | undefined;
};

/** Sites in one transaction: each has all its changes or none, and a commit is shared. */
const BATCH = 50;

/**
 * Composes the values of all enrolled agents from the layers that the releases of their channels name, and signs a statement for each site
 * that differs. A site whose values tie or do not fit keeps those that it has, and blocks no other. A kill between leaves old or new values
 * at each site; the next call does the rest. writeComposed lays the statements out.
 * @throws FleetError the codes of the store and of signing
 */
export const composeSites = async (
  hub: Hub,
  signer: SiteSigner,
  { now, dryRun = false, only, undeclared = [], signal }: ComposeOptions,
): Promise<ComposedSites> => {
  const { sites, rows, agents } = await readFacts(hub, new Set(undeclared), only);
  const { layers, faults, turns, planned } = await decideComposition(hub, {
    sites,
    agents,
    now,
    dryRun,
    isPart: only !== undefined,
  });
  const changed: ComposedSites['changed'][number][] = [];
  const due = planned.filter(({ differs }) => differs);
  const bySite = Map.groupBy(agents, ({ site }) => site);
  const agentsAt = (site: string): readonly AgentRow[] => bySite.get(site) ?? [];
  const past = await readHiddenBefore(hub, channelsOf(due.flatMap(({ site }) => agentsAt(site))));
  const hidden = hiddenAt((name) => layers.get(name)?.configs ?? [], past);
  const hidingAt = (site: string): Hiding => hidden(agentsAt(site));
  // Opened once: its index names every site.
  const layout = await openOrStartLayout(hub.layout);
  const own: SiteSigner = { ...signer, checkOwn: async (row, floor) => refuseOlder(layout, row, floor) };
  const older = new Map<string, FleetError>();
  for (const batch of parts(due, BATCH)) {
    signal?.throwIfAborted();
    changed.push(
      ...(dryRun
        ? await tryOut(hub, own, batch, { rows, hidingAt, older })
        : await issueUnlessOlder(hub, own, batch, { layers, turns, hidingAt, now, older })),
    );
  }
  const judged = planned.map((one) => {
    const error = older.get(one.site);
    return error ? { ...one, held: [...one.held, error] } : one;
  });
  if (!dryRun) await markReached(hub, judged, rows, turns);
  if (!dryRun) await noteLayers(hub, layers);
  const known = { lacking: await findLacking(sites, layers), differing: differencesBySite(agents, layers) };
  if (!dryRun) await keepStates(hub, judged, { ...known, undeclared: new Set(undeclared), now });
  return {
    changed,
    held: judged.filter(({ held }) => held.length > 0).map(({ site, held }) => ({ site, reasons: held })),
    lacking: [...known.lacking].map(([site, reasons]) => ({ site, reasons })),
    waiting: turns.waiting,
    advice: [...faults, ...findDifferences(agents, layers)],
  };
};

/**
 * Writes the statements of composed sites that the layout may lack, also those of a call that was interrupted.
 * @returns the number of sites @throws FleetError BUSY, ROLLBACK
 */
export const writeComposed = async (hub: Hub, options: WriteSiteOptions): Promise<number> => {
  const { db } = hub.store;
  const due = await db
    .selectFrom('site_layers')
    .select('site')
    .where('written', '=', 0)
    .orderBy('site')
    .execute();
  if (due.length === 0) return 0;
  const names = due.map(({ site }) => site);
  const written = await writeSites(
    hub,
    names.map((name) => ({ name })),
    options,
  );
  await hub.store.transact(async (tx) => {
    for (const part of parts(names))
      await tx.updateTable('site_layers').set({ written: 1 }).where('site', 'in', part).execute();
  });
  return written;
};

/**
 * Judges sites again after a change of their values or agents: which values they lack, and how they differ from the repository. Why a site keeps its
 * values stays as the last composition found it.
 * @throws FleetError the codes of the store
 */
export const judgeAgain = async (hub: Hub, names: readonly string[], now: Date): Promise<void> => {
  for (const part of parts(names)) {
    const { sites, agents } = await readFacts(hub, new Set(), part);
    const { layers } = await readNewestLayers(hub, agents);
    const known = { lacking: await findLacking(sites, layers), differing: differencesBySite(agents, layers) };
    const before = await readHeld(hub.store.db, part);
    const judged = sites.map(({ site, declared }) => ({
      site,
      declared,
      held: before.get(site)?.reasons ?? [],
    }));
    await keepStates(hub, judged, { ...known, undeclared: new Set(), now });
  }
};

/** Differences between what the repository declares and what is enrolled, by the newest releases (findDifferences). */
export const readDifferences = async (hub: Hub): Promise<readonly FleetError[]> => {
  const { agents } = await readFacts(hub, new Set());
  const { layers, faults } = await readNewestLayers(hub, agents);
  return [...faults, ...findDifferences(agents, layers)];
};

type Facts = {
  readonly sites: readonly SiteFacts[];
  readonly rows: ReadonlyMap<string, SiteRow>;
  readonly agents: readonly AgentRow[];
};

const readFacts = async (
  { store }: Hub,
  undeclared: ReadonlySet<string>,
  only?: readonly string[],
): Promise<Facts> => {
  const { db, fleet } = store;
  const every = db.selectFrom('site').selectAll();
  const rows = await (only === undefined ? every : every.where('name', 'in', only)).execute();
  const agents = await db
    .selectFrom('agent')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  const states = await db.selectFrom('site_layers').selectAll().execute();
  const declared = new Map(states.map((state) => [state.site, state.declared]));
  const bySite = Map.groupBy(agents, ({ site }) => site);
  return {
    rows: new Map(rows.map((row) => [row.name, row])),
    agents,
    sites: rows.map((row) => ({
      site: row.name,
      values: siteValuesOf(row, fleet, row.name),
      agents: bySite.get(row.name) ?? [],
      declared: undeclared.has(row.name) ? null : (declared.get(row.name) ?? null),
    })),
  };
};

/** As issueUnlessOlder, without a statement. */
const tryOut = async (
  { store }: Hub,
  signer: SiteSigner,
  batch: readonly PlannedComposition[],
  {
    rows,
    hidingAt,
    older,
  }: Pick<Facts, 'rows'> & Pick<IssueTerms, 'hidingAt'> & { readonly older: Map<string, FleetError> },
): Promise<ComposedSites['changed']> => {
  const names = batch.map(({ site }) => site);
  for (const [site, one] of await findOlder(store.db, names, signer)) older.set(site, one);
  return batch.flatMap(({ site, composed }) => {
    if (older.has(site)) return [];
    const row = rows.get(site);
    const before = siteValuesOf(row, store.fleet, site);
    const changes = decidedValues(before, withComposed(before, composed), hidingAt(site));
    return [{ site, version: row?.version ?? 0, changes }];
  });
};

type IssueTerms = {
  readonly hidingAt: (site: string) => Hiding;
  readonly layers: ReadonlyMap<string, ReleasedChannelLayers>;
  readonly turns: Turns;
  readonly now: Date;
};

/**
 * A site of which the layout has a newer statement aborts the transaction of its batch. Such sites are added to `older`, and the
 * batch is issued again without them.
 */
const issueUnlessOlder = async (
  hub: Hub,
  signer: SiteSigner,
  batch: readonly PlannedComposition[],
  { older, ...terms }: IssueTerms & { readonly older: Map<string, FleetError> },
): Promise<ComposedSites['changed']> => {
  try {
    return await issue(hub, signer, batch, terms);
  } catch (error) {
    if (!isFleetError(error, 'ROLLBACK')) throw error;
    const names = batch.map(({ site }) => site);
    const found = await findOlder(hub.store.db, names, signer);
    if (found.size === 0) throw error;
    for (const [site, one] of found) older.set(site, one);
    return issue(
      hub,
      signer,
      batch.filter(({ site }) => !found.has(site)),
      terms,
    );
  }
};

const issue = (
  { store }: Hub,
  signer: SiteSigner,
  batch: readonly PlannedComposition[],
  { layers, turns, hidingAt, now }: IssueTerms,
): Promise<ComposedSites['changed']> =>
  store.transact(async (tx) => {
    const changed: ComposedSites['changed'][number][] = [];
    for (const { site, composed, declared } of batch) {
      const row = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
      // People may have set values since: theirs stay.
      const before = siteValuesOf(row, store.fleet, site);
      const after = withComposed(before, composed);
      const changes = decidedValues(before, after, hidingAt(site));
      const by = { ...store.by, reason: store.by.reason ?? reasonOf(layers) };
      const decided: NotedChange[] = [];
      for (const change of changes)
        decided.push(await noteChange(tx, { change: 'sites compose', ...change }, by, now));
      const next = await issueSite(tx, site, { ...signer, by, decided }, now, after);
      await keepState(tx, { site, declared, held: null, since: formatTime(now), written: 0 });
      for (const { stored, upTo } of turns.running)
        await markApplied(tx, stored.id, site, { version: next.version, upTo });
      changed.push({ site, version: next.version, changes });
    }
    return changed;
  });

/** Places of begun stages whose site has the values already are reached without a new statement. */
const markReached = async (
  { store }: Hub,
  planned: readonly PlannedComposition[],
  rows: ReadonlyMap<string, SiteRow>,
  { running }: Turns,
): Promise<void> => {
  const same = new Set(
    planned.filter((one) => !one.differs && one.held.length === 0).map(({ site }) => site),
  );
  for (const { stored, upTo } of running) {
    const waiting = await store.db
      .selectFrom('values_unit')
      .select('site')
      .where('rollout', '=', stored.id)
      .where('state', '=', 'waiting')
      .where('stage', '<', upTo)
      .execute();
    const due = [...new Set(waiting.map(({ site }) => site))].filter((site) => same.has(site));
    if (due.length === 0) continue;
    await store.transact(async (tx) => {
      for (const site of due)
        await markApplied(tx, stored.id, site, { version: rows.get(site)?.version ?? 0, upTo });
    });
  }
};

type Keeping = {
  readonly undeclared: ReadonlySet<string>;
  readonly lacking: ReadonlyMap<string, readonly FleetError[]>;
  readonly differing: ReadonlyMap<string, readonly FleetError[]>;
  readonly now: Date;
};

/** Stores where sites are declared and why they are held, where that changed. */
const keepStates = async (
  { store }: Hub,
  planned: readonly Pick<PlannedComposition, 'site' | 'declared' | 'held'>[],
  { undeclared, lacking, differing, now }: Keeping,
): Promise<void> => {
  const states = await store.db.selectFrom('site_layers').selectAll().execute();
  const known = new Map(states.map((state) => [state.site, state]));
  const due = planned.flatMap(({ site, declared: named, held: keeps }): SiteLayersRow[] => {
    const before = known.get(site);
    const reasons = [
      ...keeps.map(toReason),
      ...(lacking.get(site) ?? []).map((error) => ({ ...toReason(error), holds: 'package' as const })),
      ...(differing.get(site) ?? []).map((error) => ({ ...toReason(error), holds: 'nothing' as const })),
    ];
    const held = reasons.length === 0 ? null : canonicalJson(reasons, 'doubles');
    const declared = undeclared.has(site) ? null : named;
    if (!before && held === null && declared === null) return [];
    if (before && before.held === held && before.declared === declared) return [];
    const since = before && before.held === held ? before.since : formatTime(now);
    return [{ site, declared, held, since, written: before?.written ?? 1 }];
  });
  if (due.length === 0) return;
  await store.transact(async (tx) => {
    for (const row of due) await keepState(tx, row);
  });
};

const keepState = async (tx: Tx, row: SiteLayersRow): Promise<void> => {
  const { site: _, ...columns } = row;
  await tx
    .insertInto('site_layers')
    .values(row)
    .onConflict((conflict) => conflict.column('site').doUpdateSet(columns))
    .execute();
};

const toReason = ({ code, message, at, hint }: FleetError): HeldReason =>
  defined({ code, message, at, hint });

/** Sites that keep the values that they have, lack values, or differ from the repository, by name. @param only these sites */
export const readHeld = async (
  db: Hub['store']['db'],
  only?: readonly string[],
): Promise<ReadonlyMap<string, HeldSite>> => {
  if (only?.length === 0) return new Map();
  const every = db.selectFrom('site_layers').selectAll().where('held', 'is not', null).orderBy('site');
  const rows = await (only === undefined ? every : every.where('site', 'in', only)).execute();
  return new Map(rows.map(({ site, held, since }) => [site, { since, ...parseHeld(held ?? '[]') }]));
};

const parseHeld = (text: string): Omit<HeldSite, 'since'> => {
  const all = parseJson(text) as readonly HeldReason[];
  const toErrors = (wanted: HeldReason['holds']): readonly FleetError[] =>
    all
      .filter(({ holds }) => holds === wanted)
      .map(({ code, message, holds: _, ...more }) => new FleetError(code, message, more));
  return { reasons: toErrors(undefined), lacking: toErrors('package'), differs: toErrors('nothing') };
};
