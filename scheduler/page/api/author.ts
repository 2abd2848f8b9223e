import type { ApiResponse, SuccessResponse } from '@oazapfts/runtime';
import { ask, type Call, Refusal, send } from './ask.ts';
import { readDecider, readToken } from './session.ts';

/** The token of this tab allows no edits. */
export const NO_AUTHOR = 'no author';

/** The hub has no platform, and so no paths for edits. */
export const NO_PLATFORM = 'no platform';

export type NoAuthor = typeof NO_AUTHOR | typeof NO_PLATFORM;

/** Reads for an author: by the session, with the token of a person that this tab keeps, or with the token of the tab. */
export const askAsAuthor = async <T extends ApiResponse>(
  call: Call<T>,
  signal: AbortSignal,
): Promise<SuccessResponse<T> | NoAuthor> => {
  const token = authorToken();
  try {
    return await (token === null ? ask(call, signal) : send(call, { signal, token }));
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return NO_PLATFORM;
    if (
      token !== null &&
      error instanceof Refusal &&
      (error.code === 'TOKEN_SCOPE' || error.code === 'TOKEN_INVALID')
    )
      return NO_AUTHOR;
    throw error;
  }
};

/** Sends an edit with the same right. Rejects with Refusal. */
export const sendAsAuthor = <T extends ApiResponse>(call: Call<T>): Promise<SuccessResponse<T>> =>
  send(call, { token: authorToken() });

/** null: the tab has a session. */
const authorToken = (): string | null => {
  const own = readToken();
  return own === null ? null : (readDecider() ?? own);
};
