import { defined } from '../../defined.ts';
import { type Digest, shortDigest } from '../../digest.ts';
import type { BlobSource, FoundBlob } from '../../formats/layout/blobs.ts';
import { missingBlob } from '../../formats/layout/verified.ts';
import { discard } from './http/exchange.ts';
import { createRetries } from './http/retry-budget.ts';
import { pullContent } from './pull-content.ts';
import { ACCEPT, remember } from './pull-manifest.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

type Place = 'blobs' | 'manifests';

/** A repository as a source of content by digest: blobs and manifests, which a registry stores separately. */
export const repositoryBlobs = (repository: RepositoryClient): BlobSource => {
  const { client, path, name, manifests } = repository;
  const source = `registry ${name}`;

  /** Tries the likelier path first, so that a second request is rare. */
  const places = (digest: Digest, isManifest = manifests.has(digest)) =>
    isManifest ? (['manifests', 'blobs'] as const) : (['blobs', 'manifests'] as const);
  const asking = (place: Place, digest: Digest, verb: string, signal?: AbortSignal) => ({
    doing: `${verb} ${shortDigest(digest)} in ${name}`,
    path: `${path}/${place}/${digest}`,
    scope: scopeFor(path, 'pull'),
    signal,
    ...defined({ headers: place === 'manifests' ? ACCEPT : undefined }),
  });

  /**
   * Asks the manifests and the blobs, one after the other. docker-registry answers 500 to a request for a manifest whose digest it has
   * as a blob only: that counts as a failure, and is retried, only after the blobs were asked.
   */
  const ask = async <T>(
    digest: Digest,
    where: ReturnType<typeof places>,
    question: (place: Place, onFailure?: () => void) => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    let failed = false;
    const [first] = where;
    const onFailure = (): void => {
      failed = true;
    };
    for (const place of where) {
      const found = await question(place, place === 'manifests' && place === first ? onFailure : undefined);
      if (found === undefined) continue;
      if (place === 'manifests') remember(repository, digest);
      else if (failed) manifests.delete(digest);
      return found;
    }
    const found = failed ? await question('manifests') : undefined;
    if (found !== undefined) remember(repository, digest);
    return found;
  };

  const find = (
    digest: Digest,
    where: ReturnType<typeof places>,
    signal?: AbortSignal,
    from?: number,
  ): Promise<FoundBlob | undefined> =>
    ask(digest, where, (place, onFailure) =>
      pullContent(client, { ...asking(place, digest, 'reading', signal), onFailure, from }),
    );
  const open = async (
    digest: Digest,
    from: number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> => {
    const found = await find(digest, places(digest), signal, from);
    if (!found) throw missingBlob(digest, source);
    return found.open();
  };

  return {
    name: source,
    size: (digest) =>
      ask(digest, places(digest), (place, onFailure) =>
        client.ask(
          {
            ...asking(place, digest, 'looking for'),
            method: 'HEAD',
            accept: onFailure ? [200, 404, 500] : [200, 404],
            // An ignored failure does not count as success.
            retries: createRetries(client.options, client.retryBudget),
          },
          async (answer) => {
            await discard(answer);
            if (answer.status === 500) onFailure?.();
            else client.retryBudget.succeeded();
            const length = answer.header('content-length') ?? '';
            return answer.status === 200 && /^[0-9]{1,15}$/.test(length) ? Number(length) : undefined;
          },
        ),
      ),
    open: (digest, signal) => open(digest, 0, signal),
    openFrom: open,
    get: (digest, { isManifest, signal }) => find(digest, places(digest, isManifest), signal),
  };
};
