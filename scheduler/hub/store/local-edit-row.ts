import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { type LocalEvent, localEventOf } from '#bundles/formats/events/local-value';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';

/**
 * State of a local edit. waiting: the office has not answered, also while it is a proposal. superseded: a newer edit of the value came. withdrawn: the
 * site took it back. ended: its agent was revoked, or has another key.
 */
export type LocalEditState = 'waiting' | 'superseded' | 'withdrawn' | 'accepted' | 'refused' | 'ended';

/** A value that a person at a site set or took back, as its agent reported. */
export type LocalEditRow = {
  readonly agent: string;
  readonly life: number;
  /** Of the event. */
  readonly seq: number;
  readonly edit: Digest;
  readonly action: 'set' | 'unset';
  readonly name: string;
  /** JSON as text; null: taken back. */
  readonly value: string | null;
  readonly old: string | null;
  readonly given: string | null;
  /** Of the office's value that it overrode; null: there was none. */
  readonly given_digest: Digest | null;
  readonly person: string;
  readonly reason: string;
  /** By the clock of the site. */
  readonly at: Timestamp;
  readonly received_at: Timestamp;
  readonly state: LocalEditState;
  /** Why it was not decided by the rule; null: nothing to say. */
  readonly note: string | null;
  /** Branch of the pull request that would make it a layer; null: no pull request was opened for it. */
  readonly proposal: string | null;
  readonly decided_by: string | null;
  readonly decided_reason: string | null;
  readonly decided_at: Timestamp | null;
  /** 1: the agent reported that it ended the local value. */
  readonly confirmed: number;
};

type Reported = {
  readonly agent: string;
  readonly life: number;
  readonly seq: number;
  readonly at: Timestamp;
  readonly receivedAt: Timestamp;
};

/** Detail of an event about a local value, from its signed line; undefined: nothing that can be read. */
export const readLocalLine = (line: string): LocalEvent | undefined => {
  try {
    return localEventOf(parseJson(line) as Event);
  } catch {
    return undefined;
  }
};

/** The row of an edit; undefined: the event ended one with an answer. */
export const toLocalEdit = (
  { agent, life, seq, at, receivedAt }: Reported,
  event: LocalEvent,
): LocalEditRow | undefined => {
  const { action, edit, name, value, old, given, givenDigest, person, reason } = event;
  if (action !== 'set' && action !== 'unset') return undefined;
  return {
    agent,
    life,
    seq,
    edit,
    action,
    name,
    value: action === 'set' ? (value ?? null) : null,
    old: old ?? null,
    given: given ?? null,
    given_digest: givenDigest ?? null,
    person: person ?? 'a person there',
    reason: reason ?? '',
    at,
    received_at: receivedAt,
    state: action === 'set' ? 'waiting' : 'ended',
    note: null,
    proposal: null,
    decided_by: null,
    decided_reason: null,
    decided_at: null,
    confirmed: 0,
  };
};
