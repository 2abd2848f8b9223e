import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes wrong with one request. */
export type RegistryFault =
  | { readonly kind: 'answer'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Nothing is ever answered. */
  | { readonly kind: 'hang' }
  /** The connection ends after so many bytes of the answer's body. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** One byte of the body is another; length and digest in the head stay. */
  | { readonly kind: 'flip' }
  /** The head says another digest than the body has. */
  | { readonly kind: 'lie' };

type SpoilingFault = Exclude<RegistryFault, { readonly kind: 'answer' | 'hang' }>;

export type FaultyRegistry = AsyncDisposable & {
  /** 'address:port' */
  readonly host: string;
  /** Asked for each request: '<METHOD> <path>'. undefined: it is passed on as it is. */
  fault: ((line: string) => RegistryFault | undefined) | undefined;
  /** '<METHOD> <path>' of all that came. */
  readonly asked: string[];
  /** How many requests met a fault. */
  faults: number;
};

const OTHER_DIGEST = `sha256:${'0'.repeat(64)}`;

/** Stands in front of a registry that speaks plain HTTP, and misbehaves as the test asks. */
export const startFaultyRegistry = async (to: string, address = '127.0.0.1'): Promise<FaultyRegistry> => {
  const [hostname, port] = to.split(':');
  const pass = (
    incoming: IncomingMessage,
    answer: ServerResponse,
    fault: SpoilingFault | undefined,
  ): void => {
    const { method, url: path, headers } = incoming;
    const outgoing = forward({ hostname, port, method, path, headers }, (response) => {
      const head = { ...response.headers };
      if (fault?.kind === 'lie') head['docker-content-digest'] = OTHER_DIGEST;
      answer.writeHead(response.statusCode ?? 500, head);
      if (fault === undefined || fault.kind === 'lie') response.pipe(answer);
      else void spoil(response, answer, fault);
    });
    outgoing.on('error', () => answer.destroy());
    incoming.on('error', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer((incoming, answer) => {
    const line = `${incoming.method} ${incoming.url}`;
    it.asked.push(line);
    const fault = it.fault?.(line);
    if (fault) it.faults += 1;
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'answer') answer.writeHead(fault.status, fault.headers).end();
    else pass(incoming, answer, fault);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const it: FaultyRegistry = {
    host: `${address}:${(server.address() as AddressInfo).port}`,
    fault: undefined,
    asked: [],
    faults: 0,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return it;
};

const spoil = async (
  from: AsyncIterable<Buffer>,
  answer: ServerResponse,
  fault: Exclude<SpoilingFault, { readonly kind: 'lie' }>,
): Promise<void> => {
  let seen = 0;
  try {
    for await (const chunk of from) {
      if (fault.kind === 'cut' && seen + chunk.byteLength >= fault.bytes) {
        answer.write(chunk.subarray(0, fault.bytes - seen), () => answer.destroy());
        return;
      }
      if (fault.kind === 'flip' && seen === 0) chunk[0] = (chunk[0] ?? 0) ^ 1;
      seen += chunk.byteLength;
      answer.write(chunk);
    }
    answer.end();
  } catch {
    answer.destroy();
  }
};
