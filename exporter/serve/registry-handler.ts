import type { IncomingMessage, ServerResponse } from 'node:http';
import { defined } from '#bundles/defined';
import { MAX_MANIFEST_BYTES } from '#bundles/formats/layout/manifest';
import { compareBytes, isDigest } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import { OCI_INDEX } from '#bundles/media-types';
import { answerBlob, type BlobAnswering } from './answer-blob.ts';
import { answerError, answerJson } from './answers.ts';
import type { MinRate } from './drain-at-min-rate.ts';
import { pageOf } from './page-of.ts';
import { type Route, routeOf } from './route.ts';
import type { ServedContent, ServedRepository } from './served-content.ts';
import { type Limit, createLimit } from '#bundles/transport/publish/limit';

export type HandlerOptions = {
  readonly imagesAt: string;
  /** Maximum number of concurrent blob transfers. */
  readonly transfers?: number;
  /** Maximum of them for one address. */
  readonly share?: number;
  readonly pace?: MinRate;
  readonly onBroken: BlobAnswering['onBroken'];
  readonly onBytes?: BlobAnswering['onBytes'];
};

const TRANSFERS = 32;
/** containerd and docker request three layers at once, a proxy of several nodes some more. */
const SHARE = 8;
/** 70 kbit/s: slower lines cannot pull images in useful time. */
const MIN_RATE: MinRate = { bytes: 512 << 10, ms: 60_000 };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The read part of the registry API (OCI distribution spec 1.1: pull and content discovery). */
export const registryHandler = (
  served: ServedContent,
  {
    imagesAt,
    transfers = TRANSFERS,
    share = SHARE,
    pace = MIN_RATE,
    onBroken,
    onBytes = () => {},
  }: HandlerOptions,
): Handler => {
  const { blobs, repositories } = served;
  const answering: BlobAnswering = {
    blobs,
    proven: new Set(),
    limit: fairLimit(transfers, share),
    pace,
    onBroken,
    onBytes,
  };
  const names = [...repositories.keys()].toSorted(compareBytes);

  /** containerd sends a mirror only the path, and the registry's host in `ns`. */
  const repositoryOf = (path: string, query: URLSearchParams): ServedRepository | undefined => {
    const ns = query.get('ns');
    const mirrored = [imagesAt, ns?.replace(':', '_'), path].filter(Boolean).join('/');
    return (ns === null ? undefined : repositories.get(mirrored)) ?? repositories.get(path);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('docker-distribution-api-version', 'registry/2.0');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const message =
        'this registry serves a medium and is read-only; use fleet-export push to fill a registry';
      answerError(request, response, 405, 'UNSUPPORTED', message, { allow: 'GET, HEAD' });
      return;
    }
    const url = URL.parse(`http://registry${request.url}`);
    const route = url ? routeOf(url) : { kind: 'unknown' as const };
    if (url) await answerRoute(request, response, route, url);
    else answerError(request, response, 404, 'NAME_UNKNOWN', 'there is nothing at this path');
  };

  const answerRoute = async (
    request: IncomingMessage,
    response: ServerResponse,
    route: Route,
    { pathname, searchParams: query }: URL,
  ): Promise<void> => {
    const answerPage = (list: readonly string[], value: (items: readonly string[]) => unknown): void => {
      const { items, next } = pageOf(list, query);
      answerJson(request, response, value(items), next ? { link: `<${pathname}?${next}>; rel="next"` } : {});
    };
    switch (route.kind) {
      case 'version':
        return answerJson(request, response, {});
      case 'catalog':
        return answerPage(names, (items) => ({ repositories: items }));
      case 'bad-digest':
        return answerError(request, response, 400, 'DIGEST_INVALID', 'a digest is sha256: and 64 hex digits');
      case 'unknown':
        return answerError(request, response, 404, 'NAME_UNKNOWN', 'there is nothing at this path');
      case 'tags':
      case 'manifest':
      case 'blob':
      case 'referrers': {
        const repository = repositoryOf(route.repository, query);
        if (repository) return answerRepository(request, response, route, repository, query, answerPage);
        return answerError(request, response, 404, 'NAME_UNKNOWN', 'the medium has no such repository');
      }
    }
  };

  const answerRepository = async (
    request: IncomingMessage,
    response: ServerResponse,
    route: Extract<Route, { readonly repository: string }>,
    repository: ServedRepository,
    query: URLSearchParams,
    answerPage: (list: readonly string[], value: (items: readonly string[]) => unknown) => void,
  ): Promise<void> => {
    switch (route.kind) {
      case 'tags': {
        const tags = [...repository.tags.keys()].toSorted(compareBytes);
        return answerPage(tags, (items) => ({ name: route.repository, tags: items }));
      }
      case 'blob': {
        const size = repository.blobs.get(route.digest) ?? repository.manifests.get(route.digest)?.size;
        if (size === undefined)
          return answerError(request, response, 404, 'BLOB_UNKNOWN', 'the repository has no such blob');
        return answerBlob(request, response, { digest: route.digest, size }, answering);
      }
      case 'referrers': {
        const wanted = query.get('artifactType');
        const all = repository.referrers.get(route.digest) ?? [];
        const manifests = wanted === null ? all : all.filter(({ artifactType }) => artifactType === wanted);
        return answerJson(
          request,
          response,
          { schemaVersion: 2, mediaType: OCI_INDEX, manifests },
          defined({
            'content-type': OCI_INDEX,
            'oci-filters-applied': wanted !== null ? 'artifactType' : undefined,
          }),
        );
      }
      case 'manifest':
        return answerManifest(request, response, route.reference, repository);
    }
  };

  const answerManifest = async (
    request: IncomingMessage,
    response: ServerResponse,
    reference: string,
    repository: ServedRepository,
  ): Promise<void> => {
    const digest = isDigest(reference) ? reference : repository.tags.get(reference);
    const found = digest && repository.manifests.get(digest);
    if (!found)
      return answerError(request, response, 404, 'MANIFEST_UNKNOWN', 'the repository has no such manifest');
    const head = {
      'content-type': found.mediaType,
      'content-length': found.size,
      'docker-content-digest': found.digest,
      etag: `"${found.digest}"`,
    };
    const bytes =
      request.method === 'HEAD' ? undefined : await readBlob(blobs, found.digest, MAX_MANIFEST_BYTES);
    response.writeHead(200, head).end(bytes);
  };

  return (request, response) => {
    serve(request, response).catch((error: unknown) => {
      onBroken(error);
      if (response.headersSent) response.destroy();
      else answerError(request, response, 500, 'UNKNOWN', 'the medium cannot be read here, or was changed');
    });
  };
};

/**
 * Runs at most `width` works at once, and at most `share` of one client, so that a client whose transfers are stuck does not block
 * others.
 */
export const fairLimit = (width: number, share: number): ((client: string) => Limit) => {
  const all = createLimit(width);
  const clients = new Map<string, { readonly limit: Limit; works: number }>();
  return (client) => async (work) => {
    const own = clients.get(client) ?? { limit: createLimit(share), works: 0 };
    clients.set(client, own);
    own.works += 1;
    try {
      // The client's own limit comes first: a work that waits for it takes no place of the common limit.
      return await own.limit(() => all(work));
    } finally {
      own.works -= 1;
      if (own.works === 0) clients.delete(client);
    }
  };
};
