import { digestOf, type Digest, hexOf } from '#bundles/digest';
import { canonicalBytes } from '#bundles/json/canonical';
import { pauseMs } from '#bundles/retry';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { Store } from '../../store/open-store.ts';
import type { Database, GateCheckRow } from '../../store/tables.ts';
import type { AskOutcome } from './ask-check.ts';
import { type CheckAnswer, refused } from './check-answer.ts';

/** The last answer of an external check about the candidate. */
export type CheckFacts =
  | { readonly state: 'unasked' }
  | { readonly state: 'asked'; readonly at: Timestamp }
  | { readonly state: 'passed' | 'failed'; readonly at: Timestamp; readonly message: string }
  /** The check could not be asked, or its answer has no valid signature. */
  | { readonly state: 'unreachable' | 'invalid'; readonly at: Timestamp; readonly message: string };

/** A check of a policy, about one candidate. */
export type CheckAbout = {
  readonly fleet: string;
  readonly from: string;
  readonly to: string;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly check: PromotionPolicy['checks'][number];
};

/** Name of the question: another candidate, address or timeout is another question, so an answer is about one of each. */
export const checkId = ({ fleet, from, to, shared, check }: CheckAbout): string =>
  `check_${hexOf(digestOf(canonicalBytes({ fleet, from, to, shared, ...check }))).slice(0, 40)}`;

/** The stored answers about a candidate, by name of the check. */
export const readChecks = async (
  db: Database,
  checks: PromotionPolicy['checks'],
  about: Omit<CheckAbout, 'check'>,
): Promise<ReadonlyMap<string, CheckFacts>> => {
  if (checks.length === 0) return new Map();
  const names = new Map(checks.map((check) => [checkId({ ...about, check }), check.name]));
  const rows = await db
    .selectFrom('gate_check')
    .selectAll()
    .where('id', 'in', [...names.keys()])
    .execute();
  return new Map(rows.map((row) => [names.get(row.id) ?? '', factsOf(row)]));
};

const factsOf = ({ state, at, message }: GateCheckRow): CheckFacts =>
  state === 'asked' ? { state, at } : { state, at, message };

/** A question that got no answer it can count is asked again after these pauses, as long as its candidate is there. */
const RETRY_PAUSES = { firstMs: 30_000, longestMs: 900_000, jitter: 'longer' } as const;

/**
 * Takes the questions that are to be asked now: those never asked, those whose last try failed some time ago, and those that were not
 * answered in time. Stored before they are sent, so that an answer finds them, and a hub that is killed in between asks again under the same id.
 */
export const claimQuestions = async (
  store: Store,
  wanted: readonly CheckAbout[],
  { now, random }: { readonly now: Date; readonly random: () => number },
): Promise<readonly CheckAbout[]> => {
  const due = await dueAmong(store.db, wanted, now);
  if (due.length === 0) return [];
  return await store.transact(async (tx) => {
    const claimed = await dueAmong(tx, wanted, now);
    for (const { about, tries } of claimed) {
      const { check, shared, to } = about;
      const next = new Date(now.getTime() + pauseMs(RETRY_PAUSES, tries + 1, random));
      const again = { tries: tries + 1, next_at: formatTime(next), until: untilOf(check, now) };
      const id = checkId(about);
      const fresh = {
        id,
        environment: to,
        shared,
        state: 'asked',
        message: '',
        at: formatTime(now),
      } as const;
      if (tries > 0) await tx.updateTable('gate_check').set(again).where('id', '=', id).execute();
      else
        await tx
          .insertInto('gate_check')
          .values({ ...fresh, ...again, signed_at: 0 })
          .execute();
    }
    return claimed.map(({ about }) => about);
  });
};

const dueAmong = async (
  db: Database,
  wanted: readonly CheckAbout[],
  now: Date,
): Promise<readonly { readonly about: CheckAbout; readonly tries: number }[]> => {
  const ids = wanted.map(checkId);
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('gate_check').selectAll().where('id', 'in', ids).execute();
  return wanted.flatMap((about, at) => {
    const row = rows.find(({ id }) => id === ids[at]);
    if (!row) return [{ about, tries: 0 }];
    // Rows of earlier versions have no time for a question that a check accepted.
    const next = row.next_at ?? (row.state === 'asked' ? row.until : null);
    // A question from far ahead was asked by a clock that has been set back since.
    const isAhead = parseTime(row.at).getTime() > now.getTime() + RETRY_PAUSES.longestMs;
    return next !== null && (isAhead || next <= formatTime(now)) ? [{ about, tries: row.tries }] : [];
  });
};

const untilOf = ({ timeoutSeconds }: { readonly timeoutSeconds: number }, now: Date): Timestamp =>
  formatTime(new Date(now.getTime() + timeoutSeconds * 1000));

/** Stores the result of a question. An answer that arrived meanwhile stays. @throws FleetError CHECK_REFUSED */
export const recordOutcome = async (
  store: Store,
  about: CheckAbout,
  outcome: AskOutcome,
  now: Date,
): Promise<void> => {
  const id = checkId(about);
  if (outcome.kind === 'answered') return recordAnswer(store, id, outcome.answer, now);
  await store.transact(async (tx) => {
    const until = untilOf(about.check, now);
    const { next_at: next } = await findQuestion(tx, id);
    const news =
      outcome.kind === 'accepted'
        ? // Without an answer it is asked again, and not sooner than after a try that failed.
          {
            state: 'asked' as const,
            message: '',
            until,
            next_at: next !== null && next > until ? next : until,
          }
        : { state: outcome.kind, message: outcome.message };
    await tx
      .updateTable('gate_check')
      .set({ ...news, at: formatTime(now) })
      .where('id', '=', id)
      .where('signed_at', '=', 0)
      .execute();
  });
};

/** The candidate that a question is about. @throws FleetError CHECK_REFUSED if no such question was asked */
export const findQuestion = async (db: Database, id: string): Promise<GateCheckRow> => {
  const row = await db.selectFrom('gate_check').selectAll().where('id', '=', id).executeTakeFirst();
  if (row) return row;
  throw refused('the hub has asked no such question');
};

/**
 * Stores a verified answer. The one that was signed last counts, so an answer that is sent again later changes nothing.
 * @throws FleetError CHECK_REFUSED for an answer that comes too late, or is older than the one that counts
 */
export const recordAnswer = async (
  store: Store,
  id: string,
  { result, message, signedAt }: CheckAnswer,
  now: Date,
): Promise<void> =>
  store.transact(async (tx) => {
    const { until, ...row } = await findQuestion(tx, id);
    if (signedAt === row.signed_at && result === row.state && message === row.message) return;
    if (signedAt <= row.signed_at)
      throw refused('the check has answered since: only a later answer replaces one');
    if (formatTime(now) > until)
      throw refused(`the answer comes too late: the check had time until ${until}`);
    await tx
      .updateTable('gate_check')
      .set({ state: result, message, signed_at: signedAt, at: formatTime(now), next_at: null })
      .where('id', '=', id)
      .execute();
  });
