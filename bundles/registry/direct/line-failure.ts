/** By undici's codes, so that one failure is told in the same words whoever met it. */
export const lineFailure = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code });
