import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { makeAuthority, makeCertificate } from '../../../harness/fleets/certificates.ts';
import { freePort } from '../../../harness/neighbours/free-port.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import type { Fields } from './question.ts';

/** A webhook of a cluster that answers as the path says by which it is called. */
export type WebhookServer = AsyncDisposable & {
  /** `clientConfig` of a webhook: '/deny/403', '/convert/fails', '/garbage' ... */
  readonly at: (path: string) => Fields;
};

const WORDS = 'exceeded quota: x is forbidden: User cannot get; field is immutable';

/** `response` of a review, or undefined for another kind of answer. */
const responseTo = (path: string): Fields | undefined => {
  const [, verb, how] = path.split('/');
  if (verb === 'convert')
    return how === 'fails'
      ? { result: { status: 'Failed', message: 'cannot convert' } }
      : { result: { status: 'Success' }, convertedObjects: [] };
  if (verb === 'patch')
    return {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from('[{"op":"remove","path":"/data/none"}]').toString('base64'),
    };
  if (verb !== 'deny') return undefined;
  if (how === 'reason')
    return { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'the team says no' } };
  return { allowed: false, status: { ...(how !== 'none' && { code: Number(how) }), message: WORDS } };
};

export const startWebhookServer = async (): Promise<WebhookServer> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('webhooks'));
  const authority = await makeAuthority(folder.path);
  const files = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
  const [ca, cert, key] = await Promise.all(
    [authority.certificate, files.certificate, files.key].map((file) => readFile(file)),
  );
  const port = await freePort();
  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = new URL(request.url ?? '/', 'https://127.0.0.1').pathname;
      const answer = responseTo(path);
      response.setHeader('content-type', 'application/json');
      if (path === '/never') return;
      if (path === '/status/500') response.statusCode = 500;
      if (answer === undefined) {
        response.end('"no review"');
        return;
      }
      const {
        apiVersion,
        kind,
        request: asked,
      } = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly request: { readonly uid: string };
      } & Fields;
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, ...answer } }));
    });
  }).listen(port, '127.0.0.1');
  cleanup.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const moved = cleanup.move();
  return {
    at: (path) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle: ca?.toString('base64') }),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};
