import type { Dispatcher } from 'undici';
import { isFleetError, toFleetError } from '#bundles/errors';
import { readBody } from '#bundles/transport/registry/http/read-body';
import { type Answer, send } from '#bundles/transport/registry/http/send';
import { VERSION } from '#bundles/version';
import type { Digest } from '#bundles/digest';
import { checkScheme } from '../../../load/charts/chart-places.ts';
import { type CheckAnswer, MAX_ANSWER_BYTES, readAnswer } from './check-answer.ts';
import { signWebhook } from '../../webhook/webhook-signature.ts';

/** Result of asking. `accepted`: the answer comes later. */
export type AskOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'answered'; readonly answer: CheckAnswer }
  | { readonly kind: 'unreachable' | 'invalid'; readonly message: string };

export type CheckQuestion = {
  readonly id: string;
  readonly url: string;
  readonly shared: Digest;
  readonly body: Buffer;
};

export type AskOptions = {
  readonly connections: Dispatcher;
  readonly secret: string;
  readonly plainHttp: readonly string[];
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  /** Limit of one request. The answer itself may come later. */
  readonly requestMs?: number;
};

const REQUEST_MS = 30_000;

/**
 * Asks a check by a signed POST. 202: the answer comes later; 200: the signed answer is in the body. Redirects are not followed.
 * No message has more of the address than its host.
 * @throws FleetError ABORTED when the signal aborts
 */
export const askCheck = async (question: CheckQuestion, options: AskOptions): Promise<AskOutcome> => {
  const url = new URL(question.url);
  const { host } = url;
  const { connections, secret, plainHttp, clock, requestMs = REQUEST_MS } = options;
  const limit = AbortSignal.timeout(requestMs);
  const signal = AbortSignal.any([options.signal, limit]);
  const { id, body } = question;
  try {
    if (!isAllowed(url, plainHttp))
      return { kind: 'invalid', message: `${host} is not asked: it is without TLS` };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': `fleet-scheduler/${VERSION}`,
      ...signWebhook(secret, { id, body, now: clock() }),
    };
    const answer = await send(connections, { method: 'POST', url, headers, body, signal }, plainHttp);
    return await judge(question, answer, { secret, now: clock });
  } catch (error) {
    options.signal.throwIfAborted();
    if (limit.aborted)
      return { kind: 'unreachable', message: `${host} did not answer within ${requestMs / 1000} s` };
    // A FleetError is about the answer, others about the connection.
    if (isFleetError(error) && error.code !== 'ABORTED') return { kind: 'invalid', message: error.message };
    return { kind: 'unreachable', message: `${host}: ${toFleetError(error).message}` };
  }
};

const isAllowed = (url: URL, plainHttp: readonly string[]): boolean => {
  try {
    checkScheme(url, plainHttp);
    return true;
  } catch {
    return false;
  }
};

const judge = async (
  { id, shared }: CheckQuestion,
  answer: Answer,
  { secret, now }: { readonly secret: string; readonly now: () => Date },
): Promise<AskOutcome> => {
  const { status, host, header } = answer;
  if (status === 200) {
    const body = await readBody(answer, MAX_ANSWER_BYTES, `the answer of ${host}`);
    return { kind: 'answered', answer: readAnswer(secret, { header, body }, { id, shared, now: now() }) };
  }
  await answer.body.dump();
  if (status === 202) return { kind: 'accepted' };
  const isPassing = status >= 500 || status === 429 || status === 408;
  const why = status >= 300 && status < 400 ? 'a redirect, which is not followed' : `${status}`;
  return { kind: isPassing ? 'unreachable' : 'invalid', message: `${host} answered with ${why}` };
};
