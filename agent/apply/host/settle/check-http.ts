import type { HostCheck } from '#bundles/formats/bundle/host-package';
import type { CheckResult } from '../../../model/target.ts';
import { untilTimeout } from './until-timeout.ts';

type HttpCheck = Extract<HostCheck, { type: 'http' }>;

/**
 * Passes if the URL answers with the expected status. Retries until the timeout, because a server may still be starting; with `once`
 * it asks a single time.
 */
export const checkHttp = (check: HttpCheck, once: boolean, signal: AbortSignal): Promise<CheckResult> => {
  const { url, status } = check;
  const request = asRequest(url);
  let last = 'does not answer';
  return untilTimeout(check, { once, signal }, async (limit) => {
    try {
      const answer = await fetch(request.url, {
        headers: request.headers,
        signal: limit,
        redirect: 'manual',
      });
      await answer.body?.cancel();
      if (answer.status === status) return { outcome: 'passed', message: `${where(url)} answers ${status}` };
      last = `answers ${answer.status} instead of ${status}`;
    } catch (error) {
      if (!limit.aborted) last = `does not answer: ${reasonOf(error)}`;
    }
    return { outcome: 'failed', message: `${where(url)} ${last}` };
  });
};

/** fetch refuses URLs with user and password, so they are sent in the Authorization header. */
const asRequest = (text: string): { readonly url: URL; readonly headers: Record<string, string> } => {
  const url = new URL(text);
  const { username, password } = url;
  if (username === '' && password === '') return { url, headers: {} };
  url.username = '';
  url.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
};

/** The URL without user, password and query, which may be secrets. */
const where = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
};

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'no connection';
};
