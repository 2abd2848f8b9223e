import { expect, test } from 'vitest';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import { changeState } from '#bundles/formats/statements/change-state';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { openLayout } from '#bundles/formats/layout/layout';
import { canonicalJson } from '#bundles/json/canonical';
import { isFleetError } from '#bundles/errors';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { approveValues, rejectValues } from '../../../../../scheduler/hub/promote/values/approve-values.ts';
import { decideValues } from '../../../../../scheduler/hub/promote/values/change-values.ts';
import { changesBackTo } from '../../../../../scheduler/hub/promote/values/changes-back-to.ts';
import { decideValuesStep } from '../../../../../scheduler/hub/promote/values/decide-values-step.ts';
import { readProposals } from '../../../../../scheduler/hub/promote/values/propose-values.ts';
import { stepValues } from '../../../../../scheduler/hub/promote/values/step-values.ts';
import { runningRollouts } from '../../../../../scheduler/hub/sites/values-rollout.ts';
import { renewSites } from '../../../../../scheduler/hub/sites/renew-sites.ts';
import { setValues, type ValueChange } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { defined } from '#bundles/defined';
import { refuseMistakes } from '../../../../../scheduler/author/prepare-edit.ts';
import { prepareSiteValues, saveSiteValues } from '../../../../../scheduler/author/write-site-values.ts';
import { decideInRepository } from '../../../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { readConfiguration } from '../../../../../scheduler/settings/configuration.ts';
import { LAYERS } from '../../sites/layers/layered-hub.ts';
import { at, layer, NOW, type StagedHub, stagedHub } from './staged-hub.ts';

const SITES = ['plant-1', 'plant-2', 'plant-3'];
const REVIEW: ValuesReview = { approvals: { required: 1, from: [], notAuthor: true }, roles: {} };

/** Repeatable numbers below a bound. */
const numbers = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
};

type Take = (below: number) => number;

const pick = (take: Take): ValueChange => {
  const site = SITES[take(SITES.length)] ?? '';
  const name = take(2) === 0 ? 'gatewayHost' : 'port';
  const agent = take(3) === 0 ? { agent: 'edge' } : {};
  if (take(4) === 0) return { site, ...agent, set: {}, unset: [name] };
  return { site, ...agent, set: { [name]: name === 'port' ? take(1000) : `host-${take(1000)}` }, unset: [] };
};

/** Refusals that are answers of these roads: the value waits, does not fit, or cannot be taken back or advanced. */
const isAnswer = (error: unknown): boolean =>
  (['VALUES_CHANGED', 'USAGE', 'SITE_VALUES', 'NOTHING_AWAITING'] as const).some((code) =>
    isFleetError(error, code),
  );

const approveAll = async (hub: StagedHub, now: Date): Promise<void> => {
  const key = await hub.keys.key('bundle');
  for (const { row } of await readProposals(hub.store.db, 'waiting'))
    try {
      await approveValues(hub, { id: row.id, key, person: 'bob', reason: 'looked', now }, REVIEW);
    } catch (error) {
      if (!isAnswer(error)) throw error;
      await rejectValues(hub, row.id, { person: 'bob', reason: 'changed meanwhile' }, now);
    }
};

/** Places of values that were written into the repository. */
const inRepository: string[] = [];

/** Every road by which values reach a site. */
const ROADS: readonly ((hub: StagedHub, take: Take, now: Date) => Promise<unknown>)[] = [
  async (hub, take, now) => setValues(hub.store, pick(take), await siteSigner(hub), now),
  (hub, take, now) =>
    decideValues(hub, [pick(take), pick(take), pick(take)], { allowUnknown: false, now, review: undefined }),
  async (hub, take, now) => {
    await decideValues(hub, [pick(take), pick(take)], { allowUnknown: false, now, review: REVIEW });
    await approveAll(hub, now);
  },
  async (hub, take, now) => {
    const site = SITES[take(SITES.length)] ?? '';
    const { version } = await hub.valuesOf(site);
    const { changes } = await changesBackTo(hub, site, { version: 1 + take(version) });
    await decideValues(hub, changes, { allowUnknown: true, now, review: undefined, withdraw: [site] });
  },
  async (hub, take, now) => {
    const host = `layer-${take(1000)}`;
    await hub.edit(LAYERS, () => layer(host));
    await hub.build({ now });
    await hub.compose({ now });
  },
  async (hub, take, now) => {
    const { site, agent, set } = pick(take);
    const siteSelector = defined({ site, agent });
    const asked = {
      siteSelector,
      set: Object.keys(set).length === 0 ? { port: take(1000) } : set,
      unset: [],
    };
    const changes = [{ site, agent, ...asked }];
    // Values of the hub override those of a Config.
    const gone = { site, set: {}, unset: Object.keys(asked.set) };
    await setValues(hub.store, gone, await siteSigner(hub), now);
    if (agent !== undefined) await setValues(hub.store, { ...gone, agent }, await siteSigner(hub), now);
    const { signal } = new AbortController();
    const configuration = await readConfiguration({}, hub.folder);
    const options = {
      platform: `${hub.folder}/platform`,
      maps: [],
      cacheDirectory: `${hub.folder}/cache`,
      env: {},
      signal,
      configuration,
    };
    const { outcome } = await decideInRepository(hub, [{ ...asked, changes }], {
      now,
      review: configuration.siteValues,
      write: async (wanted) => {
        const prepared = await prepareSiteValues(options, wanted);
        refuseMistakes(prepared);
        return saveSiteValues(prepared, wanted, options);
      },
    });
    if (outcome !== 'unchanged') inRepository.push(agent === undefined ? site : `${site}/${agent}`);
    await hub.build({ now });
    await hub.compose({ now });
  },
  async (hub, take, now) => {
    const [first] = await runningRollouts(hub.store.db);
    const decision = (['advance', 'pause', 'resume', 'take-back'] as const)[take(4)] ?? 'pause';
    if (first) await decideValuesStep(hub, { id: first.id, decision, person: 'eve', reason: 'because', now });
  },
  async (hub, _take, now) => stepValues(hub, { now }),
  async (hub, take, now) => hub.runs(now, [`${SITES[take(SITES.length)] ?? ''}/edge`]),
  async (hub, _take, now) => renewSites(hub.store, await siteSigner(hub), '2999-01-01T00:00:00Z', now),
];

test('of 200 changes by every road, each that a site sees has an entry in the audit log, and no entry is without one', async () => {
  const hub = await stagedHub();
  const by = { person: 'ann', reason: 'why' };
  const office: StagedHub = { ...hub, store: { ...hub.store, by } };
  await office.join('plant-1/edge', { ring: 'pilot' });
  await office.join('plant-2/edge');
  await office.join('plant-3/edge');
  await office.compose();
  await office.runs(
    NOW,
    SITES.map((site) => `${site}/edge`),
  );
  const take = numbers(41);
  const made = ROADS.map(() => 0);
  for (let change = 0; change < 200; change += 1) {
    const road = take(ROADS.length);
    try {
      await ROADS[road]?.(office, take, at(10 + change * 7));
      made[road] = (made[road] ?? 0) + 1;
    } catch (error) {
      if (!isAnswer(error)) throw error;
    }
  }
  expect(made.every((times) => times > 3)).toBe(true);
  await appendChanges(hub, { command: 'test', now: at(5000) });
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  const noted = entries.flatMap((entry) => {
    if (entry.kind !== 'change') return [];
    const { change, about, old, new: now } = entry.predicate;
    const isDecision = /in repository|propose|reject|^values rollout (?!take-back)|enroll|renew|pin/.test(
      change,
    );
    return isDecision || old === null ? [] : [canonicalJson([about, old, now])];
  });
  const seen: string[] = [];
  for (const site of SITES) {
    const rows = await hub.store.db
      .selectFrom('site_values_version')
      .selectAll()
      .where('site', '=', site)
      .orderBy('version')
      .execute();
    const documents = rows.map(({ document }) => JSON.parse(document) as SiteValues);
    for (const [index, after] of documents.entries()) {
      const before = documents[index - 1];
      if (!before) continue;
      for (const { about, old, new: now } of decidedValues(before, after, { isHidden: namesSecretValue }))
        seen.push(canonicalJson([about, changeState(old), changeState(now)]));
    }
  }
  expect(seen.length).toBeGreaterThan(100);
  const written = entries.flatMap(({ kind, predicate }) =>
    kind === 'change' && predicate.change === 'sites set in repository' ? [predicate.about] : [],
  );
  expect(written).toEqual(inRepository);
  expect(noted.toSorted()).toEqual(seen.toSorted());
}, 120_000);
