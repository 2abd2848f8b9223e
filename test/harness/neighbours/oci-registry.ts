import { freePort } from './free-port.ts';
import { serveProgram } from '../run/serve-program.ts';

export type OciRegistry = AsyncDisposable & {
  /** '127.0.0.1:PORT', as it stands in a reference. Plain HTTP. */
  readonly host: string;
  readonly url: string;
};

/** Starts ociregistry (parts.ociregistry), empty and in memory, on a free port of the loopback. */
export const startOciRegistry = async (program: string): Promise<OciRegistry> => {
  const host = `127.0.0.1:${await freePort()}`;
  const server = await serveProgram([program, host], host);
  return { host, url: `http://${host}`, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
};
