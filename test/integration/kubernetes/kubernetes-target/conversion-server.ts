import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { makeAuthority, makeCertificate } from '../../../harness/fleets/certificates.ts';
import { freePort } from '../../../harness/neighbours/free-port.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

/** A webhook that converts objects by their apiVersion alone, and that listens only between `start` and `stop`. */
export type ConversionServer = AsyncDisposable & {
  /** `spec.conversion` of a definition. */
  readonly conversion: object;
  readonly start: () => void;
  readonly stop: () => void;
};

type Review = {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly object[];
  };
};

export const prepareConversionServer = async (): Promise<ConversionServer> => {
  const folder = await temporaryDirectory('conversion');
  const authority = await makeAuthority(folder.path);
  const files = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
  const [ca, cert, key] = await Promise.all([
    readFile(authority.certificate),
    readFile(files.certificate),
    readFile(files.key),
  ]);
  const port = await freePort();
  const listen = () =>
    createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { request: asked } = JSON.parse(Buffer.concat(chunks).toString()) as Review;
        const { uid, desiredAPIVersion: apiVersion, objects } = asked;
        const convertedObjects = objects.map((object) => ({ ...object, apiVersion }));
        const answer = { uid, result: { status: 'Success' }, convertedObjects };
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            apiVersion: 'apiextensions.k8s.io/v1',
            kind: 'ConversionReview',
            response: answer,
          }),
        );
      });
    }).listen(port, '127.0.0.1');
  let server: ReturnType<typeof listen> | undefined;
  const stop = (): void => {
    server?.close();
    server?.closeAllConnections();
    server = undefined;
  };
  return {
    conversion: {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: ca.toString('base64') },
      },
    },
    start: () => {
      server ??= listen();
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      stop();
      await folder[Symbol.asyncDispose]();
    },
  };
};
