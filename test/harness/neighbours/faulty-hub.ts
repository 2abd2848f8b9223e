import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Authority } from '#bundles/trust/root/certificate';
import { obtainCertificate } from '../../../scheduler/hub/http/server-certificate.ts';

export type FaultyHub = AsyncDisposable & {
  readonly host: string;
  /** What every request is answered with. */
  status: number;
  /** '<METHOD> <path>' of all that came. */
  readonly asked: string[];
};

/** A server that agents of the fleet take for their hub, and that is of no use to them. */
export const startFaultyHub = async (
  authority: Authority,
  hostnames: readonly string[],
): Promise<FaultyHub> => {
  const source = { kind: 'issued', authority, hostnames } as const;
  const { certificate, key } = await obtainCertificate(source, new Date());
  const server = createServer({ key, cert: certificate, minVersion: 'TLSv1.3' }, (request, response) => {
    it.asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.writeHead(it.status).end('out of order'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const it: FaultyHub = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    status: 500,
    asked: [],
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return it;
};
