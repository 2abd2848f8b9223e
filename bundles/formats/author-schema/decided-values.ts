import { compareBytes } from '../../digest.ts';
import type { Json } from '../../json/canonical.ts';
import { isSameJson } from '../../json/is-same-json.ts';
import { ownValue } from '../../own-value.ts';
import type { SiteValues } from '../../schemas/types/site-values.ts';
import { WITHHELD } from './changed-values.ts';
import type { IsHidden } from './hidden-values.ts';

/** Values that differ, of the site or of one of its agents, as a change statement names them. */
export type DecidedValues = {
  /** '<site>' or '<site>/<agent>' */
  readonly about: string;
  readonly old: { readonly [name: string]: Json };
  readonly new: { readonly [name: string]: Json };
};

/** A value that differs between two documents of a site; `agent` undefined: of the site. */
export type ValueDifference = {
  readonly agent: string | undefined;
  readonly name: string;
  readonly old: Json | undefined;
  readonly new: Json | undefined;
};

/** Values that people give, which differ between two documents: of the site first, then of agents, sorted by name. */
export const valueDifferences = (before: SiteValues, after: SiteValues): readonly ValueDifference[] => {
  const agents = [...new Set([...Object.keys(before.agents), ...Object.keys(after.agents)])];
  return [undefined, ...agents.toSorted(compareBytes)].flatMap((agent) => {
    const [old, now] = [givenValues(before, agent), givenValues(after, agent)];
    const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].toSorted(compareBytes);
    return names.flatMap((name) =>
      isSameJson(ownValue(old, name), ownValue(now, name))
        ? []
        : [{ agent, name, old: ownValue(old, name), new: ownValue(now, name) }],
    );
  });
};

/**
 * The same by site and agent, for the audit log, then values composed from layers and answers to local edits: hidden ones without their text.
 * Old values are withheld by `wasHidden`, where it is given: a release that no longer has an input hides it no more.
 */
export const decidedValues = (
  before: SiteValues,
  after: SiteValues,
  { isHidden, wasHidden = isHidden }: { readonly isHidden: IsHidden; readonly wasHidden?: IsHidden },
): readonly DecidedValues[] => {
  const shownBy =
    (hides: IsHidden): Shown =>
    (values) =>
      Object.fromEntries(
        values.flatMap(({ label, name, value }) =>
          value === undefined ? [] : [[label, hides(name) ? WITHHELD : value] as const],
        ),
      );
  const [shownOld, shown] = [shownBy(wasHidden), shownBy(isHidden)];
  const byAgent = Map.groupBy(valueDifferences(before, after), ({ agent }) => agent);
  const given = [...byAgent].map(([agent, differing]) => ({
    about: agent === undefined ? after.site : `${after.site}/${agent}`,
    old: shownOld(differing.map(({ name, old }) => ({ label: name, name, value: old }))),
    new: shown(differing.map(({ name, new: now }) => ({ label: name, name, value: now }))),
  }));
  return [...given, ...composedChanges(before, after, { shownOld, shown }), ...answerChanges(before, after)];
};

/** A value that layers give an agent, or one of its assignments, and that differs; an absent side has none. */
export type ComposedDifference = {
  readonly agent: string;
  /** As a change names it: 'port', 'hmi-line: port' of one assignment, and 'fixed port'. */
  readonly label: string;
  readonly name: string;
  readonly old: Json | undefined;
  readonly new: Json | undefined;
};

/** Values composed from layers that differ, by agent and label. */
export const composedDifferences = (before: SiteValues, after: SiteValues): readonly ComposedDifference[] => {
  const agents = new Set([...Object.keys(before.composed ?? {}), ...Object.keys(after.composed ?? {})]);
  return [...agents].toSorted(compareBytes).flatMap((agent) => {
    const [old, now] = [composedAt(before, agent), composedAt(after, agent)];
    return [...new Map([...old, ...now])]
      .map(([label, { name }]) => ({
        agent,
        label,
        name,
        old: old.get(label)?.value,
        new: now.get(label)?.value,
      }))
      .filter((one) => !isSameJson(one.old, one.new))
      .toSorted((a, b) => compareBytes(a.label, b.label));
  });
};

const composedChanges = (
  before: SiteValues,
  after: SiteValues,
  { shownOld, shown }: { readonly shownOld: Shown; readonly shown: Shown },
): readonly DecidedValues[] =>
  [...Map.groupBy(composedDifferences(before, after), ({ agent }) => agent)].map(([agent, differing]) => ({
    about: `${after.site}/${agent}`,
    old: shownOld(differing.map(({ label, name, old }) => ({ label, name, value: old }))),
    new: shown(differing.map(({ label, name, new: now }) => ({ label, name, value: now }))),
  }));

/** Answers to local edits that differ: 'local port', with the outcome and the edit. */
const answerChanges = (before: SiteValues, after: SiteValues): readonly DecidedValues[] => {
  const agents = new Set([...Object.keys(before.local ?? {}), ...Object.keys(after.local ?? {})]);
  return [...agents].toSorted(compareBytes).flatMap((agent) => {
    const [old, now] = [ownValue(before.local ?? {}, agent) ?? {}, ownValue(after.local ?? {}, agent) ?? {}];
    const names = [...new Set([...Object.keys(old), ...Object.keys(now)])]
      .filter((name) => !isSameJson(ownValue(old, name), ownValue(now, name)))
      .toSorted(compareBytes);
    if (names.length === 0) return [];
    const sideOf = (answers: typeof old): DecidedValues['old'] =>
      Object.fromEntries(
        names.flatMap((name) => {
          const answer = ownValue(answers, name);
          return answer ? [[`local ${name}`, `${answer.outcome} ${answer.edit}`] as const] : [];
        }),
      );
    return [{ about: `${after.site}/${agent}`, old: sideOf(old), new: sideOf(now) }];
  });
};

/** A value as a change names it: 'port', 'hmi-line: fixed port'. */
type Named = { readonly label: string; readonly name: string; readonly value: Json | undefined };

type Shown = (values: readonly Named[]) => DecidedValues['old'];

const composedAt = ({ composed = {} }: SiteValues, agent: string): ReadonlyMap<string, Named> => {
  const one = ownValue(composed, agent);
  const found = new Map<string, Named>();
  const add = (prefix: string, values: Values): void => {
    for (const [name, value] of Object.entries(values))
      found.set(prefix + name, { label: prefix + name, name, value });
  };
  for (const [prefix, part] of [['', one] as const, ['fixed ', one?.fixed] as const]) {
    add(prefix, part?.values ?? {});
    for (const [id, values] of Object.entries(part?.assignments ?? {})) add(`${id}: ${prefix}`, values);
  }
  return found;
};

type Values = Readonly<Record<string, Json>>;

/** The values that people give a site, or one of its agents. */
export const givenValues = ({ values, agents }: SiteValues, agent: string | undefined): Values =>
  agent === undefined ? values : (ownValue(agents, agent) ?? {});
