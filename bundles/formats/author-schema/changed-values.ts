import { defined } from '../../defined.ts';
import { compareBytes } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { canonicalJson, type Json } from '../../json/canonical.ts';
import { namesSecretValue } from './names-secret-value.ts';

/**
 * One value that differs. `old` and `new` are JSON as text, at most MAX_TEXT characters of it; an absent one had, or has, no value. Values that may be
 * secrets are WITHHELD.
 */
export type ChangedValue = { readonly name: string; readonly old?: string; readonly new?: string };

export const WITHHELD = 'withheld';

const MAX_TEXT = 256;

type Values = Readonly<Record<string, Json>>;

/** The values that differ between two states, sorted by name. @param writeOnly names that a schema hides, beside those that name a secret */
export const changedValues = (
  before: Values,
  after: Values,
  writeOnly: ReadonlySet<string> = new Set(),
): readonly ChangedValue[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted(compareBytes).flatMap((name) => {
    const [old, now] = [textOf(before, name), textOf(after, name)];
    if (old === now) return [];
    const isHidden = writeOnly.has(name) || namesSecretValue(name);
    const shown = (text: string): string => (isHidden ? WITHHELD : cut(text));
    return [
      defined({
        name,
        old: old !== undefined ? shown(old) : undefined,
        new: now !== undefined ? shown(now) : undefined,
      }),
    ];
  });

const textOf = (values: Values, name: string): string | undefined =>
  Object.hasOwn(values, name) ? canonicalJson(values[name] ?? null, 'doubles') : undefined;

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** Reads the changed values in the detail of an event. Leaves out entries of another shape. */
export const readChangedValues = (detail: unknown): readonly ChangedValue[] => {
  const values = isRecord(detail) ? detail['values'] : undefined;
  if (!Array.isArray(values)) return [];
  return values.filter(
    (one: unknown): one is ChangedValue =>
      isRecord(one) &&
      typeof one['name'] === 'string' &&
      [one['old'], one['new']].every((side) => side === undefined || typeof side === 'string'),
  );
};

/** 'lineNumber 7 -> 8'. */
export const formatChangedValue = ({ name, old = 'nothing', new: now = 'nothing' }: ChangedValue): string =>
  `${name} ${old} -> ${now}`;
