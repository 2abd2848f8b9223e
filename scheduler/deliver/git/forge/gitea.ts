import type { Forge, PullRequest } from './forge.ts';
import { type ForgeAccess, fieldOf, listOf, openForgeClient, postStatus } from './forge-client.ts';

/** Page size for pull requests and labels, and the maximum number of pages. */
const PAGE = 50;
const PAGES = 20;

/** Colour of labels that we create. */
const COLOUR = '#0e8a16';

/** Gitea's (and Forgejo's) REST API for one repository. @param repository 'owner/name' */
export const openGitea = (access: ForgeAccess, repository: string): Forge => {
  const client = openForgeClient(access);
  const repo = `repos/${repository}`;

  const search = async (
    path: string,
    isIt: (one: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown> | undefined> => {
    for (let page = 1; page <= PAGES; page += 1) {
      const separator = path.includes('?') ? '&' : '?';
      const all = listOf((await client.ask('GET', `${path}${separator}page=${page}&limit=${PAGE}`)).body);
      const found = all.find(isIt);
      // A server may return fewer items than requested, so only an empty page is the last.
      if (found || all.length === 0) return found;
    }
    return undefined;
  };

  /** The API has no filter by branch. For a deleted branch only `label` has its name. */
  const find: Forge['find'] = async (head, base) => {
    const isIt = (one: Record<string, unknown>): boolean =>
      isBranch(one['head'], head) && isBranch(one['base'], base) && !isFork(one);
    const found =
      (await search(`${repo}/pulls?state=open`, isIt)) ?? (await search(`${repo}/pulls?state=closed`, isIt));
    return found && toPullRequest(found);
  };

  const labelId = async (name: string): Promise<number> => {
    const known = await search(`${repo}/labels`, (label) => label['name'] === name);
    const label = known ?? (await client.ask('POST', `${repo}/labels`, { name, color: COLOUR })).body;
    return fieldOf(label, 'id', 'number');
  };

  return {
    find,
    open: async ({ head, base, title, body }) => {
      const asked = await client.ask('POST', `${repo}/pulls`, { head, base, title, body }, [409]);
      // 409: another run has already opened it.
      const known = asked.status === 409 ? await find(head, base) : undefined;
      return known ?? toPullRequest(asked.body);
    },
    edit: async (number, words) => {
      await client.ask('PATCH', `${repo}/pulls/${number}`, words);
    },
    addLabels: async (number, labels) => {
      const ids: number[] = [];
      for (const label of labels) ids.push(await labelId(label));
      await client.ask('POST', `${repo}/issues/${number}/labels`, { labels: ids });
    },
    close: async (number) => {
      await client.ask('PATCH', `${repo}/pulls/${number}`, { state: 'closed' });
    },
    setCommitStatus: (status) => postStatus(client, repo, status),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

const isBranch = (side: unknown, branch: string): boolean => {
  const { ref, label } = (side ?? {}) as Record<string, unknown>;
  return ref === branch || label === branch;
};

const isFork = (one: Record<string, unknown>): boolean => {
  const [head, base] = [one['head'], one['base']] as (Record<string, unknown> | undefined)[];
  return head?.['repo_id'] !== base?.['repo_id'];
};

const toPullRequest = (found: unknown): PullRequest => {
  const { merged, labels } = found as Record<string, unknown>;
  const unmerged = fieldOf(found, 'state', 'string') === 'closed' ? 'closed' : 'open';
  return {
    number: fieldOf(found, 'number', 'number'),
    url: fieldOf(found, 'html_url', 'string'),
    state: merged === true ? 'merged' : unmerged,
    labels: listOf(labels).map((label) => fieldOf(label, 'name', 'string')),
  };
};
