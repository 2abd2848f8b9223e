import { FleetError, isFleetError } from '#bundles/errors';
import { givenValues } from '#bundles/formats/author-schema/decided-values';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { ownValue } from '#bundles/own-value';
import type { Hub } from '../../hub.ts';
import { checkValues, readTakers } from '../../sites/check-values.ts';
import { siteValuesOf, type SiteSigner } from '../../sites/issue-site.ts';
import { changeSites, readSites, toChange } from '../../sites/set-many-values.ts';
import type { ValueChange } from '../../sites/set-values.ts';
import {
  contentOf,
  type GivenUnit,
  markApplied,
  markUnwritten,
  noteRollout,
  readPins,
  rolloutOf,
  type StoredRollout,
} from '../../sites/values-rollout.ts';
import type { SiteRow, Tx, ValuesUnitRow } from '../../store/tables.ts';

/** Sites of one transaction. A kill between two leaves old or new values at each site, and the next call does the rest. */
const BATCH = 50;

type Unit = Pick<ValuesUnitRow, 'site' | 'agent'> & { readonly content: GivenUnit };

export type UnitOptions = {
  readonly signer: SiteSigner;
  readonly now: Date;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Changes the values of the places whose stage has begun: by the person and for the reason of the rollout. A place whose value is another one by now is
 * withdrawn. writeComposed lays the statements out.
 * @returns rows of the sites that changed
 * @throws FleetError SITE_VALUES if a value does not fit the releases any more, with the places, before anything is changed; the errors of signing
 */
export const applyUnits = async (
  hub: Hub,
  { id, rollout, progress }: StoredRollout,
  { signer, now, signal }: UnitOptions,
): Promise<readonly SiteRow[]> => {
  const upTo = progress.started.length;
  const due = await readUnits(hub.store.db, id, 'waiting', upTo);
  if (due.length === 0) return [];
  await checkUnits(hub, due, rollout.allowUnknown === true);
  const { person, reason, change } = rollout;
  return inBatches(hub, due, { now, signal }, async (tx, sites) => {
    if (!(await isRunning(tx, id))) return [];
    const units = (await readUnits(tx, id, 'waiting', upTo)).filter(({ site }) => sites.has(site));
    const facts = await readSites(
      tx,
      units.map(({ site }) => ({ site })),
    );
    const stale = units.filter((unit) => !holds(facts.rows.get(unit.site), unit, unit.content.old));
    for (const unit of stale) {
      await setState(tx, id, unit, 'withdrawn');
      const withdrawn = { site: unit.site, agent: unit.agent };
      const by = { person: null, reason: 'somebody changed the value meanwhile' };
      await noteRollout(tx, { id, rollout, progress, state: 'running' }, 'withdraw', {
        by,
        now,
        new: withdrawn,
      });
    }
    const changes = units.filter((unit) => !stale.includes(unit)).map(toChange);
    const rows = await changeSites(tx, changes, facts, { signer, by: { person, reason }, change, now });
    const versions = new Map(rows.map(({ name, version }) => [name, version]));
    for (const site of sites) {
      const version = versions.get(site) ?? facts.rows.get(site)?.version;
      if (version !== undefined) await markApplied(tx, id, site, { version, upTo });
    }
    return rows;
  });
};

/**
 * Gives the places that a rollout reached the values back that they had before. A place whose value somebody changed since keeps it.
 * @returns rows of the sites that changed
 */
export const returnUnits = async (
  hub: Hub,
  { id, progress: { takenBack } }: StoredRollout,
  { signer, now, signal }: UnitOptions,
): Promise<readonly SiteRow[]> => {
  const by = takenBack ?? { person: null, reason: null };
  const due = await readUnits(hub.store.db, id, 'applied');
  return inBatches(hub, due, { now, signal }, async (tx, sites) => {
    const units = (await readUnits(tx, id, 'applied')).filter(({ site }) => sites.has(site));
    const facts = await readSites(
      tx,
      units.map(({ site }) => ({ site })),
    );
    const same = units.filter((unit) => holds(facts.rows.get(unit.site), unit, unit.content.set));
    const changes = same.map(toReturn);
    const rows = await changeSites(tx, changes, facts, {
      signer,
      by,
      change: 'values rollout take-back',
      now,
    });
    for (const unit of units) await setState(tx, id, unit, 'returned');
    return rows;
  });
};

const toReturn = ({ site, agent, content: { set, unset, old } }: Unit): ValueChange =>
  toChange({
    site,
    agent,
    content: {
      set: old,
      unset: [...Object.keys(set), ...unset].filter((name) => !Object.hasOwn(old, name)),
    },
  });

const inBatches = async (
  { store }: Hub,
  due: readonly Unit[],
  { now, signal }: Pick<UnitOptions, 'now' | 'signal'>,
  work: (tx: Tx, sites: ReadonlySet<string>) => Promise<readonly SiteRow[]>,
): Promise<readonly SiteRow[]> => {
  const sites = [...new Set(due.map(({ site }) => site))];
  const changed: SiteRow[] = [];
  for (let at = 0; at < sites.length; at += BATCH) {
    signal?.throwIfAborted();
    const batch = new Set(sites.slice(at, at + BATCH));
    const rows = await store.transact(async (tx) => {
      const issued = await work(tx, batch);
      await markUnwritten(
        tx,
        issued.map(({ name }) => name),
        now,
      );
      return issued;
    });
    changed.push(...rows);
  }
  return changed;
};

const readUnits = async (
  db: Hub['store']['db'] | Tx,
  rollout: StoredRollout['id'],
  state: ValuesUnitRow['state'],
  upTo?: number,
): Promise<readonly Unit[]> => {
  let query = db
    .selectFrom('values_unit')
    .selectAll()
    .where('rollout', '=', rollout)
    .where('state', '=', state);
  if (upTo !== undefined) query = query.where('stage', '<', upTo);
  const rows = await query.orderBy('site').orderBy('agent').execute();
  return rows.flatMap(({ site, agent, ...row }) => {
    const content = contentOf(row);
    return 'set' in content ? [{ site, agent, content }] : [];
  });
};

const isRunning = async (tx: Tx, id: StoredRollout['id']): Promise<boolean> => {
  const row = await tx
    .selectFrom('values_rollout')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const { state, rollout, progress } = rolloutOf(row);
  return state === 'running' && progress.paused === null && !(await readPins(tx)).has(rollout.environment);
};

const setState = async (
  tx: Tx,
  rollout: StoredRollout['id'],
  { site, agent }: Pick<Unit, 'site' | 'agent'>,
  state: ValuesUnitRow['state'],
): Promise<void> => {
  await tx
    .updateTable('values_unit')
    .set({ state })
    .where('rollout', '=', rollout)
    .where('site', '=', site)
    .where('agent', '=', agent)
    .execute();
};

/** Whether the values that a unit changes are these now. */
const holds = (
  row: SiteRow | undefined,
  { site, agent, content: { set, unset } }: Unit,
  values: Readonly<Record<string, Json>>,
): boolean => {
  if (!row) return false;
  const present = givenValues(siteValuesOf(row, '', site), agent === '' ? undefined : agent);
  return [...Object.keys(set), ...unset].every((name) =>
    isSameJson(ownValue(present, name), ownValue(values, name)),
  );
};

/** @throws FleetError SITE_VALUES with all places whose values do not fit */
const checkUnits = async (hub: Hub, units: readonly Unit[], allowUnknown: boolean): Promise<void> => {
  const sites = await readTakers(
    hub.store.db,
    units.map(({ site }) => site),
  );
  const known = { needs: new Map(), sites };
  const wrong: string[] = [];
  for (const unit of units)
    try {
      await checkValues(hub, toChange(unit), allowUnknown, known);
    } catch (error) {
      if (!isFleetError(error, 'SITE_VALUES')) throw error;
      wrong.push(`${unit.site}: ${error.message}`);
    }
  if (wrong.length === 0) return;
  const more = wrong.length > 3 ? `; and ${wrong.length - 3} more` : '';
  throw new FleetError('SITE_VALUES', `${wrong.slice(0, 3).join('; ')}${more}`, {
    hint: 'Take the change back, or release what takes the values, and resume it',
  });
};
