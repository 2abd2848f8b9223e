import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { decodeDer } from '#bundles/trust/root/der';
import { type Identity, pemOf, sha256, type Sigstore } from './sigstore.ts';
import type { LogEntry } from './transparency-log.ts';

/** A sigstore instance that answers cosign: Fulcio, Rekor in both versions, and an authority for timestamps. */
export type SigstoreServer = AsyncDisposable & {
  readonly url: string;
  /** For `cosign sign --signing-config`: where to get a certificate, a log entry and a timestamp. */
  readonly signingConfig: string;
};

/** An identity token that this instance believes. Nobody signed it. */
export const identityToken = ({ identity, issuer }: Identity): string => {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, sub: identity, aud: 'sigstore', iat: now, nbf: now - 10, exp: now + 3600 };
  const parts = [{ alg: 'RS256', typ: 'JWT' }, claims];
  return [...parts.map((part) => base64url(JSON.stringify(part))), base64url('signature')].join('.');
};

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

const identityIn = (token: string): Identity => {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    iss: string;
    sub: string;
  };
  return { issuer: claims.iss, identity: claims.sub };
};

export const startSigstore = async (sigstore: Sigstore): Promise<SigstoreServer> => {
  const server = createServer((request, response) => {
    answer(sigstore, request).then(
      ({ status = 201, type, body }) => response.writeHead(status, { 'content-type': type }).end(body),
      (error: unknown) => response.writeHead(400).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = (at: string, majorApiVersion: number) => ({
    url: at,
    majorApiVersion,
    validFor: { start: new Date(0).toISOString() },
    operator: 'sigstore.example',
  });
  return {
    url,
    signingConfig: JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json',
      caUrls: [service(url, 1)],
      oidcUrls: [],
      rekorTlogUrls: [service(url, 2)],
      rekorTlogConfig: { selector: 'ANY' },
      tsaUrls: [service(`${url}/api/v1/timestamp`, 1)],
      tsaConfig: { selector: 'ANY' },
    }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

type Answer = { readonly status?: 200; readonly type: string; readonly body: Buffer | string };

const json = (value: unknown): Answer => ({ type: 'application/json', body: JSON.stringify(value) });

const answer = async (sigstore: Sigstore, request: IncomingMessage): Promise<Answer> => {
  const body = await buffer(request);
  const { method, url = '' } = request;
  switch (url) {
    case '/api/v2/signingCert':
      return certificate(sigstore, identityOf(request), JSON.parse(body.toString()) as Certify);
    case '/api/v1/signingCert':
      return olderCertificate(sigstore, identityOf(request), JSON.parse(body.toString()) as OlderCertify);
    case '/api/v1/timestamp':
      return { type: 'application/timestamp-reply', body: await timestamp(sigstore, body) };
    case '/api/v2/log/entries':
      return json(log(sigstore, JSON.parse(body.toString()) as NewEntry));
    case '/api/v1/log/entries':
      return olderLog(sigstore, toLogged(JSON.parse(body.toString()) as OlderEntry));
    default:
      throw new Error(`${method} ${url} is not served`);
  }
};

const identityOf = ({ headers }: IncomingMessage): Identity =>
  identityIn(headers.authorization?.replace(/^Bearer /, '') ?? '');

type Certify = { readonly publicKeyRequest: { readonly publicKey: { readonly content: string } } };

/** As Fulcio, without a look at the proof that the caller has the key. */
const certificate = async (
  sigstore: Sigstore,
  who: Identity,
  { publicKeyRequest: { publicKey } }: Certify,
): Promise<Answer> => {
  const issued = await sigstore.certify(who, derOf(publicKey.content));
  const chain = { certificates: [pem(issued), pem(sigstore.authority)] };
  return { ...json({ signedCertificateEmbeddedSct: { chain } }), status: 200 };
};

type OlderCertify = { readonly publicKey: { readonly content: string } };

const olderCertificate = async (
  sigstore: Sigstore,
  who: Identity,
  { publicKey }: OlderCertify,
): Promise<Answer> => {
  const issued = await sigstore.certify(who, derOf(Buffer.from(publicKey.content, 'base64').toString()));
  return { type: 'application/pem-certificate-chain', body: `${pem(issued)}${pem(sigstore.authority)}` };
};

/** TimeStampReq of RFC 3161: the digest is in its messageImprint. */
const timestamp = (sigstore: Sigstore, request: Buffer): Promise<Buffer> => {
  const digest = decodeDer(request).children[1]?.children[1]?.content;
  if (!digest) throw new Error('this is no request for a timestamp');
  return sigstore.timestamp(Buffer.alloc(0), { digest });
};

type Verifier = object;
type NewEntry = {
  readonly hashedRekordRequestV002?: {
    readonly digest: string;
    readonly signature: { readonly content: string; readonly verifier: Verifier };
  };
  readonly dsseRequestV002?: unknown;
};

const log = (sigstore: Sigstore, { hashedRekordRequestV002: request }: NewEntry): LogEntry => {
  if (!request) throw new Error('only hashedrekord is logged here');
  const { digest, signature } = request;
  return sigstore.logWithoutTime({
    kind: 'hashedrekord',
    apiVersion: '0.0.2',
    spec: {
      hashedRekordV002: {
        data: { algorithm: 'SHA2_256', digest },
        signature: signature as unknown as Record<string, string>,
      },
    },
  });
};

type OlderEntry = Parameters<Sigstore['logWithTime']>[0];
type Proposed = { readonly envelope: string; readonly verifiers: readonly string[] };
type DsseEnvelope = { readonly payload: string; readonly signatures: readonly { readonly sig: string }[] };

/** Of a DSSE envelope that it is sent, Rekor's first version keeps digests, signatures and their verifiers. */
const toLogged = ({ kind, apiVersion, spec }: OlderEntry): OlderEntry => {
  if (kind !== 'dsse') return { kind, apiVersion, spec };
  const { envelope, verifiers } = (spec as unknown as { readonly proposedContent: Proposed }).proposedContent;
  const { payload, signatures } = JSON.parse(envelope) as DsseEnvelope;
  const hashOf = (bytes: Buffer) => ({ algorithm: 'sha256', value: sha256(bytes).toString('hex') });
  return {
    kind,
    apiVersion,
    spec: {
      envelopeHash: hashOf(Buffer.from(envelope)),
      payloadHash: hashOf(Buffer.from(payload, 'base64')),
      signatures: signatures.map(({ sig }, at) => ({ signature: sig, verifier: verifiers[at] ?? '' })),
    },
  };
};

const olderLog = (sigstore: Sigstore, entry: OlderEntry): Answer => {
  const made = sigstore.logWithTime(entry);
  const { inclusionProof: proof } = made;
  const hex = (text: string): string => Buffer.from(text, 'base64').toString('hex');
  return json({
    ['0'.repeat(16) + '1'.repeat(64)]: {
      body: made.canonicalizedBody,
      integratedTime: Number(made.integratedTime),
      logID: hex(made.logId.keyId),
      logIndex: Number(made.logIndex),
      verification: {
        signedEntryTimestamp: made.inclusionPromise?.signedEntryTimestamp,
        inclusionProof: {
          logIndex: Number(proof.logIndex),
          treeSize: Number(proof.treeSize),
          rootHash: hex(proof.rootHash),
          hashes: proof.hashes.map(hex),
          checkpoint: proof.checkpoint.envelope,
        },
      },
    },
  });
};

const derOf = (pemText: string): Buffer => Buffer.from(pemText.replaceAll(/-----[^-]+-----/g, ''), 'base64');

const pem = (certificateBytes: Buffer): string => pemOf('CERTIFICATE', certificateBytes);
