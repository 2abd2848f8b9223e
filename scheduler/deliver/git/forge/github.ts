import { FleetError } from '#bundles/errors';
import type { Forge, PullRequest } from './forge.ts';
import { type ForgeAccess, fieldOf, listOf, openForgeClient, postStatus } from './forge-client.ts';

/** GitHub's REST API for one repository. @param repository 'owner/name' */
export const openGitHub = (access: ForgeAccess, repository: string): Forge => {
  const client = openForgeClient(access);
  const [owner = ''] = repository.split('/');
  const repo = `repos/${repository}`;
  const find: Forge['find'] = async (head, base) => {
    const query = new URLSearchParams({
      state: 'all',
      head: `${owner}:${head}`,
      base,
      sort: 'created',
      direction: 'desc',
      per_page: '1',
    });
    const [first] = listOf((await client.ask('GET', `${repo}/pulls?${query.toString()}`)).body);
    return first && toPullRequest(first);
  };
  return {
    find,
    open: async ({ head, base, title, body }) => {
      const asked = await client.ask('POST', `${repo}/pulls`, { head, base, title, body }, [422]);
      if (asked.status !== 422) return toPullRequest(asked.body);
      // Another run may have already opened it. Any other reason is an error.
      const known = await find(head, base);
      if (known?.state === 'open') return known;
      throw new FleetError('FORGE_REFUSED', `GitHub does not open a pull request: ${reasons(asked.body)}`);
    },
    edit: async (number, words) => {
      await client.ask('PATCH', `${repo}/pulls/${number}`, words);
    },
    addLabels: async (number, labels) => {
      await client.ask('POST', `${repo}/issues/${number}/labels`, { labels });
    },
    close: async (number) => {
      await client.ask('PATCH', `${repo}/pulls/${number}`, { state: 'closed' });
    },
    setCommitStatus: (status) => postStatus(client, repo, status),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

const toPullRequest = (found: unknown): PullRequest => {
  const { merged_at: merged, labels } = found as Record<string, unknown>;
  const unmerged = fieldOf(found, 'state', 'string') === 'closed' ? 'closed' : 'open';
  return {
    number: fieldOf(found, 'number', 'number'),
    url: fieldOf(found, 'html_url', 'string'),
    state: typeof merged === 'string' ? 'merged' : unmerged,
    labels: listOf(labels).map((label) => fieldOf(label, 'name', 'string')),
  };
};

/** The reasons of a 422 response, from `errors`, each with a message or a code. */
const reasons = (body: unknown): string => {
  const { message, errors } = (body ?? {}) as Record<string, unknown>;
  const said = listOf(errors).map((one) =>
    [one['message'], one['field'], one['code']].filter((part) => typeof part === 'string').join(' '),
  );
  return [typeof message === 'string' ? message : 'it gives no reason', ...said].join('; ').slice(0, 500);
};
