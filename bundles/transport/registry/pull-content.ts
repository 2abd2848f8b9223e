import { FleetError } from '../../errors.ts';
import type { FoundBlob } from '../../formats/layout/blobs.ts';
import type { Client, ClientAsk } from './http/client.ts';
import { discard } from './http/exchange.ts';
import { createRetries, type Retries } from './http/retry-budget.ts';
import { isTransientError, unreachable } from './http/registry-error.ts';
import type { Answer } from './http/send.ts';

/** A GET request with a response of any size. */
export type Content = Pick<ClientAsk, 'doing' | 'path' | 'headers' | 'scope' | 'signal'> & {
  /** Called for status 500, which then counts as 404, because the caller tries another path first. */
  readonly onFailure?: (() => void) | undefined;
  /** Offset of the first byte to return; default 0. */
  readonly from?: number | undefined;
};

/** Progress in bytes after which the retry budget starts again. */
const PROGRESS = 64 << 10;

/**
 * Streams content and continues after a broken connection, by a range request, or by skipping the bytes already returned if the registry
 * has no ranges. undefined for 404.
 */
export const pullContent = async (client: Client, content: Content): Promise<FoundBlob | undefined> => {
  // One retry budget for the whole transfer; nested retries would take too long.
  const retries = createRetries(client.options, client.retryBudget);
  const first = await getFrom(
    client,
    content,
    content.from ?? 0,
    retries,
    content.onFailure ? [404, 500] : [404],
  );
  if (first.status !== 404 && first.status !== 500) {
    return {
      size: totalOf(first),
      open: async () => stream(client, content, first, retries),
      drop: () => first.body.dump(),
    };
  }
  await discard(first);
  if (first.status === 500) content.onFailure?.();
  else client.retryBudget.succeeded();
  return undefined;
};

async function* stream(
  client: Client,
  content: Content,
  first: Answer,
  retries: Retries,
): AsyncGenerator<Uint8Array> {
  const { signal } = content;
  const total = totalOf(first);
  let given = content.from ?? 0;
  let mark = given;
  let answer = first;
  let skip = await bytesToSkip(first, given, content.doing);
  for (;;) {
    let failure: unknown;
    try {
      for await (const chunk of answer.body) {
        const piece = chunk.subarray(skip);
        skip -= Math.min(skip, chunk.byteLength);
        if (piece.byteLength === 0) continue;
        given += piece.byteLength;
        yield piece;
      }
      if (total === undefined || given >= total) {
        client.retryBudget.succeeded();
        return;
      }
      failure = new Error(`it ended after ${given} of ${total} bytes`);
    } catch (error) {
      failure = error;
    }
    signal?.throwIfAborted();
    if (given - mark >= PROGRESS) {
      client.retryBudget.succeeded();
      retries.renew();
    }
    mark = given;
    const doing = `${content.doing}, after ${given}${total === undefined ? '' : ` of ${total}`} bytes`;
    if (!isTransientError(failure) || !(await retries.wait(undefined, signal, answer.host)))
      throw unreachable({ doing, method: 'GET' }, answer.host, failure);
    answer = await getFrom(client, { ...content, doing }, given, retries, []);
    skip = await bytesToSkip(answer, given, doing);
  }
}

/** Requests the content from an offset; all of it without ranges, and the caller then skips the bytes that it has. */
const getFrom = async (
  client: Client,
  content: Content,
  from: number,
  retries: Retries,
  more: readonly number[],
): Promise<Answer> => {
  const ask = { ...content, retries, method: 'GET' as const };
  const accept = [200, ...more];
  if (from === 0) return client.ask({ ...ask, accept }, async (it) => it);
  const headers = { ...content.headers, range: `bytes=${from}-` };
  const answer = await client.ask({ ...ask, headers, accept: [...accept, 206, 416] }, async (it) => it);
  if (answer.status !== 416) return answer;
  await discard(answer);
  return client.ask({ ...ask, accept }, async (it) => it);
};

/** The size of the whole content in bytes, as far as the response reports it. */
const totalOf = (answer: Answer): number | undefined => {
  const text =
    answer.status === 206
      ? /\/([0-9]+)$/.exec(answer.header('content-range') ?? '')?.[1]
      : answer.header('content-length');
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
};

/** Checks the range of a response. A registry that ignores ranges starts at 0; another range is an error. */
const bytesToSkip = async (answer: Answer, given: number, doing: string): Promise<number> => {
  if (answer.status === 200) return given;
  const start = /^bytes ([0-9]{1,15})-/.exec(answer.header('content-range') ?? '')?.[1];
  if (start !== undefined && Number(start) <= given) return given - Number(start);
  await discard(answer);
  throw new FleetError(
    'REGISTRY_REFUSED',
    `${doing}: ${answer.host} answered with another range than was requested`,
    {
      hint: 'The registry, or a proxy before it, is broken',
    },
  );
};
