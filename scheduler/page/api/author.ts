import type { ApiResponse, SuccessResponse } from '@oazapfts/runtime';
import { ask, type Call, Refusal, send } from './ask.ts';
import { readDecider, readToken } from './session.ts';

/** Nobody in this tab has a right that edits need: its token only reads. */
export const NO_AUTHOR = 'no author';

/** Reads for an author: by the session, with the token of a person that this tab keeps, or with the token of the tab. */
export const askAsAuthor = async <T extends ApiResponse>(
  call: Call<T>,
  signal: AbortSignal,
): Promise<SuccessResponse<T> | typeof NO_AUTHOR> => {
  const own = readToken();
  if (own === null) return await ask(call, signal);
  try {
    return await send(call, { signal, token: readDecider() ?? own });
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'TOKEN_SCOPE' || error.code === 'TOKEN_INVALID'))
      return NO_AUTHOR;
    throw error;
  }
};

/** Sends an edit with the same right. Rejects with Refusal. */
export const sendAsAuthor = <T extends ApiResponse>(call: Call<T>): Promise<SuccessResponse<T>> =>
  send(call, { token: readToken() === null ? null : (readDecider() ?? readToken()) });
