import { connect } from 'node:net';
import type { HostCheck } from '#bundles/formats/bundle/host-package';
import type { CheckResult } from '../../../model/target.ts';
import { errno } from '../host-error.ts';
import { untilTimeout } from './until-timeout.ts';

type TcpCheck = Extract<HostCheck, { type: 'tcp' }>;

/** Passes if a connection can be made. Retries until the timeout, because a server may still be starting; with `once` it tries a single time. */
export const checkTcp = (check: TcpCheck, once: boolean, signal: AbortSignal): Promise<CheckResult> => {
  const where = check.host.includes(':') ? `[${check.host}]:${check.port}` : `${check.host}:${check.port}`;
  return untilTimeout(check, { once, signal }, async (limit) => {
    const failure = await tryConnection(check, limit);
    return failure === undefined
      ? { outcome: 'passed', message: `${where} accepts connections` }
      : { outcome: 'failed', message: `${where} accepts no connection: ${failure}` };
  });
};

/** Returns why no connection was made; undefined if one was. */
const tryConnection = ({ host, port }: TcpCheck, signal: AbortSignal): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => {
      resolve(signal.aborted ? 'no answer' : (errno(error) ?? 'no connection'));
    });
  });
