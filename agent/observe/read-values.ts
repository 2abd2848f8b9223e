import { defined } from '#bundles/defined';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { hiddenBy } from '#bundles/formats/author-schema/hidden-values';
import { type Origin, valuePlaces } from '#bundles/formats/author-schema/value-places';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { Digest } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import type { Timestamp } from '#bundles/time';
import { bundlesInForce } from '../acquire/offers/bundles-in-force.ts';
import {
  editorOf,
  inputNames,
  inputOf,
  judgeLocal,
  type LocalVerdict,
  takersOf,
} from '../acquire/offers/local-values.ts';
import type { Agent } from '../store/agent.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { fullName } from '../store/identity.ts';
import { idOf, readLocalValues, valueOf } from '../store/local-values.ts';
import { readSiteValues } from '../store/site-values.ts';
import { readTrustRow } from '../store/trust.ts';

/** An assignment that takes a value. `waits`: it does not run with it yet, and why as far as that is known. */
export type ValueTaker = { readonly assignment: string; readonly waits: string | null };

/** A value that a person at the site set. The office has not answered yet, or its answer has not arrived. */
export type ShownLocal = {
  readonly edit: Digest;
  readonly value: Json;
  readonly person: string;
  readonly reason: string;
  readonly at: Timestamp;
  /** overridden: by a fixed layer of the office, for at least one assignment. held: not used at all; `code` and `message` say why. */
  readonly state: 'in force' | 'overridden' | 'held';
  readonly code: string | null;
  readonly message: string | null;
};

export type ShownValue = {
  readonly name: string;
  /** The value in force, withheld if it may be secret; absent: none, and the fields stay as the package has them. */
  readonly value?: Json;
  /** null: there is no value. */
  readonly origin: Origin | null;
  readonly takenBy: readonly ValueTaker[];
  readonly title: string | null;
  readonly unit: string | null;
  /** Role that may change it besides the platform team: 'site' for people at the site. */
  readonly editableBy: string | null;
  readonly local: ShownLocal | null;
  /** Under a local value: what counts without it. */
  readonly office?: Json;
};

export type ShownValues = {
  readonly agent: string;
  readonly release: number | null;
  readonly siteValues: Digest | null;
  /** Sorted by name; one for each value that assignments get differently. */
  readonly values: readonly ShownValue[];
};

/**
 * The values that packages of this agent take, each with its origin and who takes it, from the store alone.
 * @throws FleetError MISSING_BLOB, STORE_CORRUPT, or the error of reading a bundle
 */
export const readValues = async (agent: Agent): Promise<ShownValues> => {
  const { state, identity } = agent;
  const { desiredRelease, siteValues } = readTrustRow(state);
  const configs = (await bundlesInForce(agent)).map(({ config }) => config);
  const document: SiteValues = siteValues
    ? readSiteValues(state, siteValues)
    : { fleet: identity.fleet, site: identity.site, values: {}, agents: {} };
  const verdicts = await judgeLocal(configs, document, identity, readLocalValues(state));
  const byName = new Map(verdicts.map((verdict) => [verdict.local.edit.name, verdict]));
  const names = [...new Set([...inputNames(configs), ...byName.keys()])].toSorted();
  const usable = verdicts.filter(({ held }) => !held);
  const locals = Object.fromEntries(usable.map(({ local }) => [local.edit.name, valueOf(local)]));
  const values = names.flatMap((name) => shownOf(agent, name, { configs, document, locals, byName }));
  return {
    agent: fullName(identity),
    release: desiredRelease?.version ?? null,
    siteValues: siteValues ?? null,
    values,
  };
};

type Facts = {
  readonly configs: readonly BundleConfig[];
  readonly document: SiteValues;
  /** The local values that may be used. */
  readonly locals: SiteValues['values'];
  readonly byName: ReadonlyMap<string, LocalVerdict>;
};

type Found = {
  readonly value: Json | undefined;
  readonly origin: Origin | null;
  readonly office: Json | undefined;
};

const shownOf = (agent: Agent, name: string, facts: Facts): readonly ShownValue[] => {
  const { configs, byName } = facts;
  const verdict = byName.get(name);
  const about = configs.map((config) => inputOf(config, name)).find((one) => one !== undefined);
  const text = (key: string): string | null => {
    const said = about?.[key];
    return typeof said === 'string' ? said : null;
  };
  const common = {
    name,
    title: text('title'),
    unit: text('x-unit'),
    editableBy: editorOf(configs, name) ?? null,
    local: verdict ? localOf(verdict) : null,
  };
  const isHidden = hiddenBy(configs.map(({ siteInputs }) => siteInputs.schema))(name);
  const groups: { readonly found: Found; readonly takenBy: ValueTaker[] }[] = [];
  for (const config of configs)
    for (const assignment of takersOf(config, name)) {
      const found = findValue(agent.identity.agent, name, config, assignment, facts);
      const taker = { assignment, waits: waitsOf(agent, assignment, name, found.value) };
      const same = groups.find((one) => isSameFound(one.found, found));
      if (same) same.takenBy.push(taker);
      else groups.push({ found, takenBy: [taker] });
    }
  if (groups.length === 0) return [{ ...common, origin: null, takenBy: [] }];
  return groups.map(({ found: { value, origin, office }, takenBy }) => ({
    ...common,
    origin,
    takenBy,
    ...defined({
      value: value !== undefined && isHidden ? WITHHELD : value,
      office: common.local === null || isHidden ? undefined : office,
    }),
  }));
};

const isSameFound = (one: Found, other: Found): boolean =>
  one.origin === other.origin && isSameJson(one.value, other.value) && isSameJson(one.office, other.office);

const findValue = (
  agent: string,
  name: string,
  config: BundleConfig,
  assignment: string,
  { document, locals }: Facts,
): Found => {
  const places = valuePlaces(config, document, { agent, assignment, local: locals });
  const has = places.filter(({ values }) => Object.hasOwn(values, name));
  const top = has.at(-1);
  const office = has.findLast(({ origin }) => origin !== 'local');
  return { value: top?.values[name], origin: top?.origin ?? null, office: office?.values[name] };
};

/** Why an assignment does not run with the value; null: it does. */
const waitsOf = (
  { state }: Agent,
  assignment: string,
  name: string,
  value: Json | undefined,
): string | null => {
  const row = findPackage(state, assignment);
  if (!row?.desired) return 'it is not installed here yet';
  if (row.pinnedRelease !== undefined) return 'it was rolled back by hand';
  if (isSamePackage(row.current, row.desired)) return null;
  const taken = row.current?.taken?.values;
  if (taken && isSameJson(Object.hasOwn(taken, name) ? taken[name] : undefined, value)) return null;
  const why = [row.code, row.message].filter((part) => part !== undefined).join(': ');
  return why === '' ? row.status : `${row.status}: ${why}`;
};

const localOf = ({ local, held, overriddenFor }: LocalVerdict): ShownLocal => {
  const { person, reason, at } = local.edit;
  const said = {
    edit: idOf(local),
    value: valueOf(local),
    person,
    reason,
    at,
  };
  if (held)
    return { ...said, state: 'held', code: held.code, message: describeHeld(held.message, local.edit.name) };
  if (overriddenFor.length === 0) return { ...said, state: 'in force', code: null, message: null };
  const message = `a layer of the platform that is fixed overrides it for ${overriddenFor.join(', ')}`;
  return { ...said, state: 'overridden', code: null, message };
};

const describeHeld = (why: string, name: string): string =>
  `the local value is not used: ${why}; set another one, or take it back: fleet-agent values unset ${name}`;
