import type { IncomingMessage, ServerResponse } from 'node:http';

/** Error codes of the OCI distribution spec 1.1, "Error Codes". */
export type ApiCode =
  | 'BLOB_UNKNOWN'
  | 'DIGEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_UNKNOWN'
  | 'TOOMANYREQUESTS'
  | 'UNKNOWN'
  | 'UNSUPPORTED';

type Headers = Readonly<Record<string, string | number>>;

export const answerJson = (
  { method }: IncomingMessage,
  response: ServerResponse,
  value: unknown,
  headers: Headers = {},
): void => {
  const bytes = Buffer.from(JSON.stringify(value));
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': bytes.byteLength,
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : bytes);
};

export const answerError = (
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  code: ApiCode,
  message: string,
  headers: Headers = {},
): void => {
  const bytes = Buffer.from(JSON.stringify({ errors: [{ code, message }] }));
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.byteLength,
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : bytes);
};
