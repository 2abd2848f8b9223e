import { digestOf } from '#bundles/digest';
import { editDigest, givenDigest, LOCAL_VALUE, type LocalEdit } from '#bundles/formats/events/local-value';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { readLocalEdits } from '../../../../../scheduler/hub/sites/local-edits.ts';
import { decideLocalEdits } from '../../../../../scheduler/hub/promote/values/decide-local-edits.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { chain, type Happening, NOW, report, type TestAgent, type TestHub } from '../../test-hub.ts';
import { release, valuesHub, type ValuesHub } from './values-hub.ts';

/** Site inputs of which the site may change two. */
const INPUTS: { readonly [name: string]: Json } = {
  line: { type: 'integer', minimum: 1, maximum: 40, 'x-editable-by': 'site' },
  mode: { type: 'string', default: 'auto', 'x-editable-by': 'site' },
  gate: { type: 'string' },
};

/** A hub whose newest release grants values to its sites. */
export const localHub = async (): Promise<ValuesHub> => {
  const hub = await valuesHub();
  await release(hub, 2, INPUTS);
  return hub;
};

type Set = { readonly name: string; readonly value: Json; readonly given?: Json; readonly old?: Json };

const text = (value: Json): string => canonicalJson(value, 'doubles');

/** The event of a person who sets a value, as fleet-agent values set writes it. */
export const setThere = (
  agent: TestAgent,
  { name, value, given, old = given }: Set,
  at = '2026-11-20T08:00:00Z',
): Happening => {
  const office = givenDigest(given);
  const edit: LocalEdit = {
    agent: agent.id,
    name,
    value: text(value),
    ...(old !== undefined && { old: text(old) }),
    ...(given !== undefined && { given: text(given) }),
    ...(office && { givenDigest: office }),
    person: 'anna',
    operator: 'root',
    reason: 'line 7 is being rebuilt',
    at,
    bootId: 'boot-1',
    monotonicMs: 1,
  };
  const { agent: _, at: __, bootId: ___, monotonicMs: ____, ...said } = edit;
  return { type: LOCAL_VALUE, at, detail: { action: 'set', edit: editDigest(edit), ...said } };
};

export const unsetThere = (name: string): Happening => ({
  type: LOCAL_VALUE,
  detail: { action: 'unset', name, edit: digestOf(name), person: 'anna', reason: 'it runs again' },
});

/** Reports what happened on a stick of its own, and imports it. */
export const bringHome = async (
  hub: TestHub,
  agent: TestAgent,
  happenings: readonly Happening[],
  from = 1,
): Promise<ReturnType<TestHub['importFrom']>> => {
  const stick = await hub.stick(`home-${agent.name}-${from}-${happenings.length}`);
  await report(stick, agent, chain(agent, happenings), from);
  return hub.importFrom(stick);
};

export const decide = async (hub: TestHub, review: Partial<ValuesReview> = {}) => {
  const whole: ValuesReview = { approvals: undefined, roles: {}, ...review };
  const { decisions } = await decideLocalEdits(hub, { review: whole, now: NOW });
  return decisions.map(({ row: { name }, outcome, note }) => ({ name, outcome, note }));
};

export const valuesAtHub = async (hub: TestHub, site = 'plant-7'): Promise<SiteValues> => {
  const row = await hub.store.db
    .selectFrom('site')
    .select('site_values')
    .where('name', '=', site)
    .executeTakeFirstOrThrow();
  return parseJson(row.site_values) as SiteValues;
};

export const states = async (hub: TestHub) =>
  (await readLocalEdits(hub.store.db)).map(({ name, value, state }) => [name, value, state]);
