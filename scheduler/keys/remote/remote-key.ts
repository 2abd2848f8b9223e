import type { Client } from 'undici';
import { FleetError, toFleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { type RetryPolicy, retry } from '#bundles/retry';
import { type PublicKey, parsePublicKey, type SigningKey, verifySignature } from '#bundles/trust/keys/key';
import {
  fromRefusal,
  type HeadsAnswer,
  type LayersAnswer,
  type LayersRequest,
  MAX_ANSWER_BYTES,
  MAX_HEADS_BYTES,
  type ShowRequest,
  type SignRequest,
} from './protocol.ts';

/**
 * Opens a key of a signer process (fleet-scheduler signer) over its Unix socket. The signer's errors are thrown unchanged.
 * Requests are retried after a lost connection, which is safe because the signer answers identical requests again.
 * @throws FleetError SIGNER_UNREACHABLE, PERMISSION, KEY_MISSING if the signer does not have the key. `sign` also rejects with
 *   the signer's refusals (docs/signing.md) and with BAD_SIGNATURE.
 */
export const openRemoteKey = async (socket: string, role: string): Promise<SigningKey> => {
  const client = await openClient(socket, MAX_ANSWER_BYTES);
  const path = encodeURIComponent(role);
  const known = parseKey(await ask(client, socket, `/v1/keys/${path}`), socket);
  return {
    public: known,
    judges: true,
    sign: async (bytes, evidence = []) => {
      const request: SignRequest = { bytes: toBase64(bytes), evidence: evidence.map(toBase64) };
      const answer = await ask(client, socket, `/v1/sign/${path}`, JSON.stringify(request));
      const signature = Buffer.from(textOf(answer, 'signature', socket), 'base64');
      if (verifySignature(known, bytes, signature)) return signature;
      throw new FleetError(
        'BAD_SIGNATURE',
        `what the signer at ${socket} answered is not a signature by its key`,
        {
          hint: 'Restart this program if the signer has another key now',
        },
      );
    },
  };
};

/** @param maxBytes of an answer */
const openClient = async (socket: string, maxBytes: number): Promise<Client> => {
  // Imported on demand: most keys are files, and loading undici takes a third of the time of a command that reads one.
  const { Client } = await import('undici');
  return new Client('http://signer', {
    socketPath: socket,
    // Often there is only one request: an idle connection must not delay the end of the program.
    keepAliveTimeout: 1_000,
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    maxResponseSize: maxBytes,
  });
};

/** The evidence of a signer, over its socket. Methods throw the errors of Signer, SIGNER_UNREACHABLE and PERMISSION. */
export type RemoteEvidence = {
  readonly heads: () => Promise<HeadsAnswer['heads']>;
  readonly show: (request: ShowRequest) => Promise<void>;
};

/**
 * Shows a signer what values of sites are composed from: the release of a channel with its bundles, and the layers that it asks for then.
 * @throws FleetError USAGE if it judges no values; its refusals; SIGNER_UNREACHABLE, PERMISSION
 */
export const openRemoteLayers = async (
  socket: string,
): Promise<(request: LayersRequest) => Promise<LayersAnswer['layers']>> => {
  const client = await openClient(socket, MAX_ANSWER_BYTES);
  return async (request) => {
    const answer = await ask(client, socket, '/v1/layers', JSON.stringify(request));
    return (answer as LayersAnswer).layers;
  };
};

export const openRemoteEvidence = async (socket: string): Promise<RemoteEvidence> => {
  const client = await openClient(socket, MAX_HEADS_BYTES);
  return {
    heads: async () => ((await ask(client, socket, '/v1/reports')) as HeadsAnswer).heads,
    show: async (request) => {
      await ask(client, socket, '/v1/reports', JSON.stringify(request));
    },
  };
};

/** A signing command may wait for a person to touch a hardware token. */
const ANSWER_MS = 60_000;
/** Long enough for a restart of the signer. */
const POLICY: RetryPolicy = { firstMs: 400, longestMs: 1_500, tries: 4, jitter: 'none' };

const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

const ask = async (client: Client, socket: string, path: string, body?: string): Promise<unknown> => {
  try {
    return await retry(POLICY, () => exchange(client, path, body), { isRetryable: isOutage });
  } catch (error) {
    throw error instanceof FleetError ? error : unreachable(error, socket);
  }
};

const exchange = async (client: Client, path: string, body: string | undefined): Promise<unknown> => {
  const { statusCode, body: answer } = await client.request({
    path,
    method: body === undefined ? 'GET' : 'POST',
    ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const json = parseStrictJson(bytes, { maxBytes: MAX_HEADS_BYTES, maxDepth: 4 }, "the signer's answer");
  if (statusCode === 200) return json;
  throw fromRefusal(json);
};

/** Whether the signer was not listening or closed the connection, as during a restart. */
const isOutage = (error: unknown): boolean =>
  ['UND_ERR_SOCKET', 'ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE'].includes(
    String((error as NodeJS.ErrnoException).code),
  );

const unreachable = (cause: unknown, socket: string): FleetError => {
  const { code, message } = (cause ?? {}) as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return new FleetError('PERMISSION', `the signer's socket ${socket} may not be used by this user`, {
      cause,
      hint: 'Add this user to the group of the socket',
    });
  }
  return new FleetError('SIGNER_UNREACHABLE', `no signer answers at ${socket}: ${message ?? 'no answer'}`, {
    cause,
    hint: 'Start it with: fleet-scheduler signer',
  });
};

const textOf = (answer: unknown, field: string, socket: string): string => {
  const value = (answer as Record<string, unknown> | null)?.[field];
  if (typeof value === 'string') return value;
  throw new FleetError('SIGNER_UNREACHABLE', `what answers at ${socket} is not a signer`);
};

const parseKey = (answer: unknown, socket: string): PublicKey => {
  try {
    return parsePublicKey(textOf(answer, 'publicKey', socket));
  } catch (error) {
    throw toFleetError(error, `reading the key of the signer at ${socket}`);
  }
};
