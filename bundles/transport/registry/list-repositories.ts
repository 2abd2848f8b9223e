import { compareBytes } from '../../digest.ts';
import { isFleetError } from '../../errors.ts';
import type { Client } from './http/client.ts';
import { listPages } from './list-pages.ts';

const PAGE = 1000;

/**
 * Lists all repositories of a registry by their full paths, sorted bytewise; undefined if it has no catalogue. The catalogue is not part of
 * the OCI distribution spec; docker-registry introduced it and most registries have it.
 */
export const listRepositories = async (
  client: Client,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> => {
  const listed = listPages(
    { client, scope: { repository: '', scopes: ['registry:catalog:*'] } },
    {
      doing: `listing the repositories of ${client.host}`,
      path: '_catalog',
      pageSize: PAGE,
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
    // Many registries allow it only to administrators.
    if (isFleetError(error, 'REGISTRY_DENIED') || isFleetError(error, 'REGISTRY_REFUSED')) return undefined;
    throw error;
  });
  return found?.toSorted(compareBytes);
};
