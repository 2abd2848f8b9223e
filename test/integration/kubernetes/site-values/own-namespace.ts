import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import type { ClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';

export type OwnNamespace = AsyncDisposable & { readonly access: ClusterAccess };

/**
 * The API of a cluster to somebody for whom the namespace `from` is the namespace `to` of it, so that one API server is many clusters to many
 * agents of one bundle. Everything else is as the server answers. No object has `from` as another text than its namespace.
 */
export const ownNamespace = async (
  cluster: ClusterAccess,
  from: string,
  to: string,
): Promise<OwnNamespace> => {
  const { tls, headers } = await cluster.credentials();
  const dispatcher = new Agent({ connect: tls });
  const rename = (content: string, was: string, now: string): string =>
    content
      .replaceAll(`"${was}"`, `"${now}"`)
      .replaceAll(`/namespaces/${was}/`, `/namespaces/${now}/`)
      .replace(new RegExp(`(/namespaces/|metadata\\.name(?:=|%3D))${was}(?=$|\\?|&)`, 'g'), `$1${now}`);
  const server = createServer((asked, answer) => {
    const stop = new AbortController();
    answer.on('close', () => stop.abort());
    const pass = async (): Promise<void> => {
      const body = rename(await text(asked), from, to);
      const { accept = 'application/json', 'content-type': type } = asked.headers;
      const given = await request(`${cluster.server}${rename(asked.url ?? '/', from, to)}`, {
        dispatcher,
        method: (asked.method ?? 'GET') as 'GET',
        headers: { ...headers, accept, ...(type !== undefined && { 'content-type': type }) },
        signal: stop.signal,
        bodyTimeout: 0,
        ...(body !== '' && { body }),
      });
      const { 'content-type': kind = 'application/json' } = given.headers;
      answer.writeHead(given.statusCode, { 'content-type': String(kind) });
      answer.flushHeaders();
      // A watch has one event a line, and no end.
      let rest = '';
      for await (const chunk of given.body.setEncoding('utf8') as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) answer.write(`${rename(line, to, from)}\n`);
      }
      answer.end(rename(rest, to, from));
    };
    pass().catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    access: {
      server: `http://127.0.0.1:${port}`,
      credentials: async () => ({ tls: {}, headers: {} }),
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await dispatcher.destroy();
    },
  };
};
