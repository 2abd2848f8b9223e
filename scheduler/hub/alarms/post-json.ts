import { isFleetError, toFleetError } from '#bundles/errors';
import { send } from '#bundles/transport/registry/http/send';
import { VERSION } from '#bundles/version';
import { checkScheme } from '../../load/charts/chart-places.ts';
import { type Access, type Outcome, REQUEST_MS } from './receiver.ts';

export type Post = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  /** Limit of the request, for tests. */
  readonly requestMs?: number;
};

/**
 * Statuses that are about this message: the receiver will answer the next one otherwise. All others but 2xx are about the receiver,
 * its address or its secret, and are tried again.
 */
const ABOUT_THE_MESSAGE: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/**
 * Posts JSON and judges the status. Redirects are not followed, and the body of the answer is not read: a receiver that answers without
 * end, or not at all, costs at most `requestMs`. No message has more of the address than its host.
 */
export const postJson = async (
  { connections, plainHttp }: Access,
  { url, headers, body, signal, requestMs = REQUEST_MS }: Post,
): Promise<Outcome> => {
  const { host } = url;
  const limit = AbortSignal.timeout(requestMs);
  try {
    checkScheme(url, plainHttp);
    const answer = await send(
      connections(),
      {
        method: 'POST',
        url,
        headers: { 'user-agent': `fleet-scheduler/${VERSION}`, ...headers },
        body,
        signal: AbortSignal.any([signal, limit]),
      },
      plainHttp,
    );
    await answer.body.dump();
    const { status } = answer;
    if (status >= 200 && status < 300) return { kind: 'taken' };
    const why = status >= 300 && status < 400 ? 'a redirect, which is not followed' : `${status}`;
    const kind = ABOUT_THE_MESSAGE.has(status) ? 'refused' : 'unreachable';
    return { kind, message: `${host} answered with ${why}` };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted)
      return { kind: 'unreachable', message: `${host} did not answer within ${requestMs / 1000} s` };
    if (isFleetError(error, 'SOURCE_UNREACHABLE'))
      return { kind: 'unreachable', message: `nothing was sent to ${host}: its address has no TLS` };
    return { kind: 'unreachable', message: `${host}: ${toFleetError(error).message}` };
  }
};
