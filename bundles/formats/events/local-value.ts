import { defined } from '../../defined.ts';
import { type Digest, digestOf, isDigest } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { canonicalJson, type Json } from '../../json/canonical.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { Event } from './event.ts';

/** Type of an event about a value that a person at the site changed (docs/bundle-format.md section 9). */
export const LOCAL_VALUE = 'local-value';

/** A change of one value by a person at the site. Values are canonical JSON as text: events have no fractions. */
export type LocalEdit = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly name: string;
  readonly value: string;
  /** The value in force before; absent: none, or longer than MAX_SHOWN_BYTES. */
  readonly old?: string;
  /** The value of the office that it overrides, the same. */
  readonly given?: string;
  /** Of the office's value; absent: it had none. */
  readonly givenDigest?: Digest;
  readonly person: string;
  /** User of the machine that ran the command. */
  readonly operator: string;
  readonly reason: string;
  readonly at: string;
  readonly bootId: string;
  readonly monotonicMs: number;
};

/** Largest local value, as JSON text in bytes: an event is one line of at most 64 KiB. */
export const MAX_LOCAL_BYTES = 8 << 10;
/** Limit for old values in an event. */
export const MAX_SHOWN_BYTES = 8 << 10;
/** Longest name of a person and longest reason, in characters; readers cut longer ones. */
export const MAX_PERSON = 256;
export const MAX_REASON = 1000;

/** Name of an edit, for the agent and the hub. */
export const editDigest = (edit: LocalEdit): Digest => digestOf(canonicalJson(edit));

/** Digest of a value of the office in an edit. */
export const givenDigest = (value: Json | undefined): Digest | undefined =>
  value === undefined ? undefined : digestOf(canonicalJson(value, 'doubles'));

/**
 * An event about a local value. `set`: a person gave it. `unset`: a person took it back. `accepted`, `refused`: it ended with the answer of the
 * office. `edit` names the edit that was made or that ended.
 */
export type LocalEvent = {
  readonly action: 'set' | 'unset' | 'accepted' | 'refused';
  readonly name: string;
  readonly edit: Digest;
  readonly value?: string;
  readonly old?: string;
  readonly given?: string;
  readonly givenDigest?: Digest;
  readonly person?: string;
  readonly reason?: string;
};

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const ACTIONS: ReadonlySet<unknown> = new Set(['set', 'unset', 'accepted', 'refused']);

/** Reads the detail of such an event, as `detail` or from its signed line; undefined: another event, or one that is not as it should be. */
export const localEventOf = ({ type, detail }: Pick<Event, 'type' | 'detail'>): LocalEvent | undefined => {
  if (type !== LOCAL_VALUE || !isRecord(detail)) return undefined;
  const { action, name, edit, value, old, given, givenDigest: office, person, reason } = detail;
  if (!ACTIONS.has(action) || typeof name !== 'string' || !NAME.test(name) || !isDigest(edit))
    return undefined;
  if (action === 'set' && !isJsonText(value)) return undefined;
  return {
    action: action as LocalEvent['action'],
    name,
    edit,
    ...defined({
      value: textOf(value),
      old: textOf(old),
      given: textOf(given),
      givenDigest: isDigest(office) ? office : undefined,
      person: wordOf(person, MAX_PERSON),
      reason: wordOf(reason, MAX_REASON),
    }),
  };
};

const wordOf = (text: unknown, max: number): string | undefined =>
  typeof text === 'string' ? text.slice(0, max) : undefined;

const textOf = (text: unknown): string | undefined => (isJsonText(text) ? text : undefined);

const isJsonText = (text: unknown): text is string => {
  if (typeof text !== 'string') return false;
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
};
