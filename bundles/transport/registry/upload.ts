import type { Digest } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import type { ClientAsk } from './http/client.ts';
import { discard } from './http/exchange.ts';
import { MIN_CHUNK_BYTES } from './http/chunk-size.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';
import type { Answer } from './http/send.ts';
import { mayGoTo } from './http/where-to.ts';

/** A blob on its way to a repository. */
export type Upload = {
  readonly repository: RepositoryClient;
  readonly blob: { readonly digest: Digest; readonly size: number };
  readonly doing: string;
  readonly signal: AbortSignal | undefined;
};

/** The state of an upload at the registry: the URL of the next request, the bytes stored so far, the smallest chunk that it accepts. */
export type Session = {
  readonly location: URL;
  readonly offset: number;
  readonly least: number;
  /** A request was interrupted before, so that parts of it may have been stored after the registry reported its offset. */
  readonly isResumed: boolean;
};

/** The registry broke an upload off: 'cut' for credentials or a size, 'offset' for an unknown upload or another offset. */
export type InterruptedUpload = { readonly failure: FleetError; readonly why: 'cut' | 'offset' };

/** Chunk size in bytes. Smaller blobs are sent in one request; after an interruption at most one chunk is sent again. */
export const chunkOf = ({ repository }: Upload, { least }: Session): number =>
  Math.max(repository.client.pace.chunk(), least);

/**
 * Begins an upload by POST, which may mount the blob from another repository instead. If the mount fails, some registries begin
 * an upload at once; for others a second POST without the mount follows.
 */
export const beginUpload = async (upload: Upload, mountFrom?: string): Promise<Session | 'mounted'> => {
  if (mountFrom === undefined) return postUpload(upload);
  try {
    return await postUpload(upload, mountFrom);
  } catch (error) {
    if (isFleetError(error, 'REGISTRY_REFUSED') || isFleetError(error, 'REGISTRY_DENIED'))
      return postUpload(upload);
    throw error;
  }
};

const postUpload = (upload: Upload, mountFrom?: string): Promise<Session | 'mounted'> => {
  const { repository, blob } = upload;
  const query = new URLSearchParams(mountFrom === undefined ? {} : { mount: blob.digest, from: mountFrom });
  const push = scopeFor(repository.path, 'pull,push');
  const scopes =
    mountFrom === undefined ? push.scopes : [...push.scopes, ...scopeFor(mountFrom, 'pull').scopes];
  const ask: ClientAsk = {
    ...standing(upload),
    method: 'POST',
    path: `${repository.path}/blobs/uploads/${query.size > 0 ? `?${query.toString()}` : ''}`,
    headers: { 'content-length': '0' },
    accept: [201, 202],
    scope: { ...push, scopes },
  };
  return repository.client.ask(ask, async (answer) => {
    await discard(answer);
    if (answer.status === 201 && mountFrom !== undefined) return 'mounted';
    const asked = answer.header('oci-chunk-min-length') ?? '';
    const least = /^[0-9]{1,12}$/.test(asked) ? Number(asked) : 0;
    return { location: locationOf(upload, answer), offset: 0, least, isResumed: false };
  });
};

/** OCI distribution spec 1.1, "Pushing a blob in chunks": one PATCH. @returns the session after it */
export const sendChunk = (
  upload: Upload,
  session: Session,
  size: number,
  body: AsyncIterable<Uint8Array>,
): Promise<Session | InterruptedUpload> => {
  const end = session.offset + size;
  const ask: ClientAsk = {
    ...standing(upload),
    method: 'PATCH',
    path: session.location,
    headers: { ...bytesOf(size), 'content-range': `${session.offset}-${end - 1}` },
    body,
    once: true,
    accept: [202, ...brokenOffBy(size)],
  };
  return upload.repository.client.ask(ask, async (answer) => {
    await discard(answer);
    if (answer.status !== 202) return brokenOff(upload, answer);
    const offset = offsetOf(answer) ?? end;
    // A smaller offset is valid: the rest is sent again. A larger one would cover bytes of another upload.
    if (offset > end) throw refused(upload, `says it has ${offset} bytes of an upload that came to ${end}`);
    if (offset < end) return brokenOff(upload, answer);
    return { ...session, location: locationOf(upload, answer, session.location), offset };
  });
};

/** The closing PUT, with the whole content where that was not sent before. */
export const finishUpload = (
  upload: Upload,
  session: Session,
  body: AsyncIterable<Uint8Array> | undefined,
): Promise<InterruptedUpload | undefined> => {
  const { location } = session;
  // Appended to the query of the location, which may be signed and must not change.
  const digest = `digest=${encodeURIComponent(upload.blob.digest)}`;
  const url = new URL(location);
  url.search = url.search ? `${url.search}&${digest}` : digest;
  const ask: ClientAsk = {
    ...standing(upload),
    method: 'PUT',
    path: url,
    headers: body ? bytesOf(upload.blob.size) : { 'content-length': '0' },
    body,
    once: true,
    accept: [201, 204, ...brokenOffBy(body ? upload.blob.size : 0)],
  };
  return upload.repository.client.ask(ask, async (answer) => {
    await discard(answer);
    return answer.status === 201 || answer.status === 204 ? undefined : brokenOff(upload, answer);
  });
};

/**
 * Asks the registry for the offset of an upload; undefined if the registry does not know the upload any more, or fails each time it is asked
 * for it, as docker-registry does after a full disk.
 */
export const resumeUpload = async (upload: Upload, session: Session): Promise<Session | undefined> => {
  const ask: ClientAsk = {
    ...standing(upload),
    method: 'GET',
    path: session.location,
    accept: [200, 204, 400, 403, 404, 405, 410, 416],
  };
  const asking = upload.repository.client.ask(ask, async (answer) => {
    await discard(answer);
    const offset = answer.status < 300 ? offsetOf(answer) : undefined;
    if (offset === undefined || offset > upload.blob.size) return undefined;
    return { ...session, location: locationOf(upload, answer, session.location), offset, isResumed: true };
  });
  return asking.catch((error: unknown) => {
    if (isFleetError(error, 'REGISTRY_UNREACHABLE')) return undefined;
    throw error;
  });
};

/**
 * Status codes after which an upload begins again: the credentials were renewed, the upload is unknown, or its offset differs.
 */
const RESTART_STATUSES = [401, 404, 416];
/** A proxy limits the size of a request: smaller chunks may pass. */
const PAYLOAD_TOO_LARGE = 413;

const brokenOffBy = (bytes: number): readonly number[] =>
  bytes > MIN_CHUNK_BYTES ? [...RESTART_STATUSES, PAYLOAD_TOO_LARGE] : RESTART_STATUSES;

const standing = ({ doing, signal, repository }: Upload) => ({
  doing,
  signal,
  scope: scopeFor(repository.path, 'pull,push'),
});

const bytesOf = (size: number) => ({
  'content-type': 'application/octet-stream',
  'content-length': String(size),
});

/** Parses Range: the end in '0-1023' is inclusive. docker-registry answers '0-0' for an empty upload. */
const offsetOf = (answer: Answer): number | undefined => {
  const end = /^(?:bytes[= ])?0-([0-9]{1,15})$/.exec(answer.header('range')?.trim() ?? '')?.[1];
  if (end === undefined) return undefined;
  return end === '0' ? 0 : Number(end) + 1;
};

/** The URL of the next request, absolute or relative to the last one. */
const locationOf = (upload: Upload, answer: Answer, otherwise?: URL): URL => {
  const text = answer.header('location');
  if (text === undefined && otherwise) return otherwise;
  const url = text === undefined ? undefined : URL.parse(text, answer.url.href);
  if (!url) throw refused(upload, 'does not say where the upload goes');
  // Behind a proxy that ends TLS, a registry returns plain HTTP locations.
  if (url.host === answer.url.host) url.protocol = answer.url.protocol;
  if (mayGoTo(answer.url, url, upload.repository.client.options.plainHttp)) return url;
  throw refused(upload, `sends the upload to ${url.protocol}//${url.host}, which is without TLS`);
};

const brokenOff = ({ doing }: Upload, { host, status }: Answer): InterruptedUpload => ({
  failure: new FleetError(
    'REGISTRY_UNREACHABLE',
    `${doing}: ${host} repeatedly breaks the upload off with ${status}`,
    { hint: 'The registry, or a proxy before it, loses uploads; try again later' },
  ),
  why: status === 404 || status === 416 ? 'offset' : 'cut',
});

const refused = ({ doing, repository }: Upload, what: string): FleetError =>
  new FleetError('REGISTRY_REFUSED', `${doing}: ${repository.client.host} ${what}`, {
    hint: 'The registry, or a proxy before it, is broken',
  });
