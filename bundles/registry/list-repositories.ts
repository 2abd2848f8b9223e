import { compareBytes } from '../digest.ts';
import { isFleetError } from '../errors.ts';
import type { Client } from './client.ts';
import { listPages } from './list-pages.ts';

const PAGE = 1000;

/**
 * All repositories of a registry by their whole paths, sorted bytewise; undefined where it does not tell. The catalogue is
 * none of the distribution spec's, but what docker-registry began with and most took over.
 */
export const listRepositories = async (
  client: Client,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> => {
  const listed = listPages(
    { client, wish: { repository: '', scopes: ['registry:catalog:*'] } },
    {
      doing: `listing the repositories of ${client.host}`,
      path: `_catalog?n=${PAGE}`,
      signal,
      items: ({ repositories: page }) => {
        const list = page === null ? [] : page;
        return Array.isArray(list) && list.every((name) => typeof name === 'string')
          ? new Map(list.map((name) => [name, name]))
          : undefined;
      },
    },
  );
  const found = await listed.catch((error: unknown) => {
    // Many let nobody but an administrator see it.
    if (isFleetError(error, 'REGISTRY_DENIED') || isFleetError(error, 'REGISTRY_REFUSED')) return undefined;
    throw error;
  });
  return found?.toSorted(compareBytes);
};
