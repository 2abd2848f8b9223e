import { compareBytes } from '../../digest.ts';
import { isTag } from './references.ts';
import { listPages } from './list-pages.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

const PAGE = 1000;

/** Lists all tags, sorted bytewise; empty for a repository that does not exist. */
export const listTags = async (
  repository: RepositoryClient,
  signal?: AbortSignal,
): Promise<readonly string[]> => {
  const tags = await listPages(
    { client: repository.client, scope: scopeFor(repository.path, 'pull') },
    {
      doing: `listing the tags of ${repository.name}`,
      path: `${repository.path}/tags/list`,
      pageSize: PAGE,
      signal,
      // docker-registry returns null for an empty list.
      items: ({ tags: page }) => {
        const list = page === null ? [] : page;
        return Array.isArray(list) && list.every(isTag) ? new Map(list.map((tag) => [tag, tag])) : undefined;
      },
    },
  );
  return (tags ?? []).toSorted(compareBytes);
};
