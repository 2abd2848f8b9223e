/** Whether the client accepts text and not JSON. curl accepts anything and gets JSON. */
export const prefersText = (accept: string): boolean =>
  /text\/plain/.test(accept) && !/application\/json/.test(accept);
