import type { IncomingMessage } from 'node:http';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Shown } from './evidence/take-reports.ts';
import type { LayersShown } from './signer.ts';
import { MAX_EVIDENCE, MAX_REQUEST_BYTES, MAX_SHOWN } from '../remote/protocol.ts';

export type ReadRequest = { readonly bytes: Buffer; readonly evidence: readonly Buffer[] };

/** Reads and decodes a SignRequest. @throws FleetError TOO_LARGE, TOO_MANY, BAD_JSON, TOO_DEEP, SCHEMA */
export const readSignRequest = async (request: IncomingMessage): Promise<ReadRequest> => {
  const body = await readBody(request);
  const json = parseStrictJson(body, { maxBytes: MAX_REQUEST_BYTES, maxDepth: 3 }, 'the request');
  const { bytes, evidence } = (json ?? {}) as { bytes?: unknown; evidence?: unknown };
  if (!Array.isArray(evidence)) throw new FleetError('SCHEMA', 'the request has no list of evidence');
  if (evidence.length > MAX_EVIDENCE)
    throw new FleetError(
      'TOO_MANY',
      `the request brings ${evidence.length} files of evidence, at most ${MAX_EVIDENCE} are read`,
    );
  return {
    bytes: decode(bytes, 'the payload to sign'),
    evidence: evidence.map((one: unknown, at) => decode(one, `file ${at} of the evidence`)),
  };
};

/** Reads and decodes a ShowRequest. @throws FleetError as readSignRequest */
export const readShowRequest = async (request: IncomingMessage): Promise<Shown> => {
  const body = await readBody(request);
  const json = parseStrictJson(body, { maxBytes: MAX_REQUEST_BYTES, maxDepth: 4 }, 'the request');
  const { reports, documents } = (json ?? {}) as { reports?: unknown; documents?: unknown };
  if (!Array.isArray(reports) || !Array.isArray(documents))
    throw new FleetError('SCHEMA', 'the request has no lists of reports and documents');
  if (reports.length + documents.length > MAX_SHOWN)
    throw new FleetError('TOO_MANY', `at most ${MAX_SHOWN} reports and documents are read at once`);
  return {
    reports: reports.map((one: { statement?: unknown; events?: unknown } | null, at) => ({
      statement: decode(one?.statement, `statement ${at}`),
      events: decode(one?.events, `the events of report ${at}`),
    })),
    documents: documents.map((one: unknown, at) => decode(one, `document ${at}`)),
  };
};

/** Reads and decodes a LayersRequest. @throws FleetError as readSignRequest */
export const readLayersRequest = async (request: IncomingMessage): Promise<LayersShown> => {
  const body = await readBody(request);
  const json = parseStrictJson(body, { maxBytes: MAX_REQUEST_BYTES, maxDepth: 3 }, 'the request');
  const { documents, past, layers } = (json ?? {}) as {
    readonly documents?: unknown;
    readonly past?: unknown;
    readonly layers?: unknown;
  };
  if (layers !== undefined) return { layers: decode(layers, 'the layers') };
  return past === undefined ? { documents: decodeAll(documents) } : { past: decodeAll(past) };
};

const decodeAll = (documents: unknown): readonly Buffer[] => {
  if (!Array.isArray(documents)) throw new FleetError('SCHEMA', 'the request has no list of documents');
  if (documents.length > MAX_EVIDENCE)
    throw new FleetError('TOO_MANY', `at most ${MAX_EVIDENCE} documents are read at once`);
  return documents.map((one: unknown, at) => decode(one, `document ${at}`));
};

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > MAX_REQUEST_BYTES)
      throw new FleetError('TOO_LARGE', `the request is larger than ${MAX_REQUEST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const decode = (text: unknown, what: string): Buffer => {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined;
  if (bytes?.toString('base64') === text && bytes) return bytes;
  throw new FleetError('SCHEMA', `${what} is not base64`);
};
