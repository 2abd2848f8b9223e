import { FleetError } from '../../../errors.ts';
import type { Answer } from './send.ts';

/** Reads a whole body into memory. @throws FleetError TOO_LARGE as early as possible; errors of the connection */
export const readBody = async (answer: Answer, maxBytes: number, what: string): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = Number(answer.header('content-length') ?? 0);
  if (size <= maxBytes) size = 0;
  else {
    await answer.body.dump();
    throw tooLarge(what, maxBytes);
  }
  for await (const chunk of answer.body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(what, maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const tooLarge = (what: string, maxBytes: number): FleetError =>
  new FleetError('TOO_LARGE', `${what} has more than the ${maxBytes} bytes that are read`);
