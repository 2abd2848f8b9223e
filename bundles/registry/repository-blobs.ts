import { type Digest, shortDigest } from '../digest.ts';
import type { BlobSource, FoundBlob } from '../layout/blobs.ts';
import type { Buffers } from '../layout/read-span.ts';
import { missingBlob } from '../layout/verified.ts';
import { discard } from './exchange.ts';
import { pullContent } from './pull-content.ts';
import { ACCEPT, remember } from './pull-manifest.ts';
import { type RepositoryClient, wishTo } from './repository-client.ts';

/** A repository as a source of bytes by digest: blobs, and the manifests, which a registry keeps apart from them. */
export const repositoryBlobs = (repository: RepositoryClient): BlobSource => {
  const { client, path, name, manifests } = repository;
  const source = `registry ${name}`;

  /** The likelier place first, so that a second request is the exception. */
  const places = (digest: Digest, isManifest = manifests.has(digest)) =>
    isManifest ? (['manifests', 'blobs'] as const) : (['blobs', 'manifests'] as const);
  const asking = (place: 'blobs' | 'manifests', digest: Digest, verb: string, signal?: AbortSignal) => ({
    doing: `${verb} ${shortDigest(digest)} in ${name}`,
    path: `${path}/${place}/${digest}`,
    wish: wishTo(path, 'pull'),
    signal,
    ...(place === 'manifests' && { headers: ACCEPT }),
  });

  const find = async (
    digest: Digest,
    where: ReturnType<typeof places>,
    signal?: AbortSignal,
    buffers?: Buffers,
  ): Promise<FoundBlob | undefined> => {
    for (const place of where) {
      const found = await pullContent(client, { ...asking(place, digest, 'reading', signal), buffers });
      if (!found) continue;
      if (place === 'manifests') remember(repository, digest);
      return found;
    }
    return undefined;
  };

  return {
    name: source,
    size: async (digest) => {
      for (const place of places(digest)) {
        const ask = { ...asking(place, digest, 'looking for'), method: 'HEAD' as const, accept: [200, 404] };
        const size = await client.ask(ask, async (answer) => {
          await discard(answer);
          const length = answer.header('content-length') ?? '';
          return answer.status === 200 && /^[0-9]{1,15}$/.test(length) ? Number(length) : undefined;
        });
        if (size === undefined) continue;
        if (place === 'manifests') remember(repository, digest);
        return size;
      }
      return undefined;
    },
    open: async (digest, signal, buffers) => {
      const found = await find(digest, places(digest), signal, buffers);
      if (!found) throw missingBlob(digest, source);
      return found.open();
    },
    get: (digest, { isManifest, signal }) => find(digest, places(digest, isManifest), signal),
  };
};
