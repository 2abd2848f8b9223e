import type { FastifyRequest } from 'fastify';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { toHttpRefusal } from '../http-status.ts';
import type { Store } from '../../store/open-store.ts';
import type { ApiRequestRow, Tx } from '../../store/tables.ts';

/** A request that decides, with the `Idempotency-Key` that the caller chose. */
type KeyedRequest = {
  readonly tokenId: string;
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly request: Digest;
};

/** @param repeats time of the first attempt, if that may have decided without an answer; undefined: this is the first */
type Work = (repeats: Date | undefined) => Promise<object>;

/** @param body as it was parsed */
type AnswerOnce = (
  request: Pick<FastifyRequest, 'method' | 'url' | 'headers'>,
  { tokenId, body }: { readonly tokenId: string; readonly body: unknown },
  work: Work,
) => Promise<object>;

/** How long an answer is kept. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Runs each request with an Idempotency-Key once and gives its repetitions the same answer; a request without the header runs each time. A
 * refusal decided nothing and is not kept. After a failure of the hub itself, or a kill, the row stays without an answer, and the next attempt
 * is given the time of the first. The running request has claimed its key at all replicas, so a row without an answer whose key is free was
 * left behind.
 * @returns rejects with FleetError USAGE for a malformed key, IDEMPOTENCY_RUNNING while the first request runs, IDEMPOTENCY_REUSED for
 *   another request with the key, or as `work`
 */
export const createAnswerOnce = (store: Store, clock: () => Date): AnswerOnce => {
  return async ({ method, url, headers }, { tokenId, body }, work) => {
    const key = parseKey(headers['idempotency-key']);
    if (key === undefined) return await work(undefined);
    const keyed = { tokenId, key, request: digestOf(JSON.stringify([method, url, body])) };
    await using claim = await store.claim(`${keyed.tokenId} ${keyed.key}`);
    if (!claim)
      throw new FleetError(
        'IDEMPOTENCY_RUNNING',
        'the first request with this Idempotency-Key is under way',
        {
          hint: 'Repeat it after a second',
        },
      );
    const row = await store.transact((tx) => begin(tx, keyed, clock()));
    if (row.answer !== null) return JSON.parse(row.answer) as object;
    const answer = await work(row.isNew ? undefined : parseTime(row.started_at)).catch(
      async (error: unknown) => {
        if (toHttpRefusal(error).status < 500) await store.transact((tx) => forget(tx, keyed));
        throw error;
      },
    );
    await store.transact((tx) => keep(tx, keyed, JSON.stringify(answer)));
    return answer;
  };
};

type Begun = Pick<ApiRequestRow, 'answer' | 'started_at'> & { readonly isNew: boolean };

/** Finds the row of a request or writes it. Rows that ended are removed. @throws FleetError IDEMPOTENCY_REUSED */
const begin = async (tx: Tx, { tokenId, key, request }: KeyedRequest, now: Date): Promise<Begun> => {
  const started_at: Timestamp = formatTime(now);
  await tx.deleteFrom('api_request').where('ends_at', '<=', started_at).execute();
  const known = await tx
    .selectFrom('api_request')
    .selectAll()
    .where('token', '=', tokenId)
    .where('key', '=', key)
    .executeTakeFirst();
  if (known && known.request !== request)
    throw new FleetError('IDEMPOTENCY_REUSED', 'this Idempotency-Key was used for another request', {
      hint: 'Choose a new key for each decision, such as a random UUID',
    });
  if (known) return { ...known, isNew: false };
  const ends_at = formatTime(new Date(now.getTime() + KEPT_MS));
  await tx
    .insertInto('api_request')
    .values({ token: tokenId, key, request, answer: null, started_at, ends_at })
    .execute();
  return { answer: null, started_at, isNew: true };
};

const keep = async (tx: Tx, { tokenId, key }: KeyedRequest, answer: string): Promise<void> => {
  await tx
    .updateTable('api_request')
    .set({ answer })
    .where('token', '=', tokenId)
    .where('key', '=', key)
    .execute();
};

const forget = async (tx: Tx, { tokenId, key }: KeyedRequest): Promise<void> => {
  await tx.deleteFrom('api_request').where('token', '=', tokenId).where('key', '=', key).execute();
};

const MAX_KEY = 255;

/**
 * The key of the `Idempotency-Key` header, with or without the quotes of a structured field.
 * @returns undefined without the header @throws FleetError USAGE
 */
const parseKey = (header: string | readonly string[] | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const [, quoted, bare] = /^(?:"([!#-[\]-~]+)"|([!#-[\]-~]+))$/.exec(String(header)) ?? [];
  const key = quoted ?? bare;
  if (key !== undefined && key.length <= MAX_KEY) return key;
  throw new FleetError('USAGE', `an Idempotency-Key has 1 to ${MAX_KEY} visible ASCII characters`, {
    hint: 'A random UUID is one',
  });
};
