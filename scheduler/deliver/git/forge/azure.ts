import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { CommitStatus, Forge, PullRequest } from './forge.ts';
import { clip, type ForgeAccess, fieldOf, listOf, openForgeClient } from './forge-client.ts';

/** Azure DevOps Services, and Azure DevOps Server since 2022. */
const VERSION = 'api-version=7.0';

/** Page size for pull requests, and the maximum number of pages. */
const PAGE = 100;
const PAGES = 20;

/** Longest description and title of a pull request. */
const MAX_BODY = 4000;
const MAX_TITLE = 400;

/** Genre of our statuses, which separates them from statuses of other programs. */
const GENRE = 'fleet-ferry';

const STATES = { pending: 'pending', success: 'succeeded', failure: 'failed' } as const satisfies Record<
  CommitStatus['state'],
  string
>;

/**
 * Azure DevOps' REST API for one repository.
 * @param access its `api` is the address of the organization or collection: 'https://dev.azure.com/<organization>'
 */
export const openAzure = (
  access: ForgeAccess,
  { project, name }: { readonly project: string; readonly name: string },
): Forge => {
  const client = openForgeClient(access);
  const [at, as] = [encodeURIComponent(project), encodeURIComponent(name)];
  const repo = `${at}/_apis/git/repositories/${as}`;

  /** The list has no labels. */
  const toPullRequest = async (found: unknown): Promise<PullRequest> => {
    const number = fieldOf(found, 'pullRequestId', 'number');
    const status = fieldOf(found, 'status', 'string');
    const listed = await client.ask('GET', `${repo}/pullRequests/${number}/labels?${VERSION}`);
    const unmerged = status === 'abandoned' ? 'closed' : 'open';
    return {
      number,
      url: `${access.api}/${at}/_git/${as}/pullrequest/${number}`,
      state: status === 'completed' ? 'merged' : unmerged,
      labels: valuesOf(listed.body).map((label) => fieldOf(label, 'name', 'string')),
    };
  };

  const find: Forge['find'] = async (head, base) => {
    let newest: Record<string, unknown> | undefined;
    for (let page = 0; page < PAGES; page += 1) {
      const query = new URLSearchParams({
        'searchCriteria.sourceRefName': `refs/heads/${head}`,
        'searchCriteria.targetRefName': `refs/heads/${base}`,
        'searchCriteria.status': 'all',
        $top: `${PAGE}`,
        $skip: `${page * PAGE}`,
      });
      const answer = await client.ask('GET', `${repo}/pullrequests?${query.toString()}&${VERSION}`);
      const all = valuesOf(answer.body);
      // The order is not documented. Numbers rise with time.
      for (const one of all)
        if (one['forkSource'] === undefined && (newest === undefined || idOf(one) > idOf(newest)))
          newest = one;
      if (all.length < PAGE) break;
    }
    return newest && (await toPullRequest(newest));
  };

  const update = async (number: number, change: object): Promise<void> => {
    await client.ask('PATCH', `${repo}/pullrequests/${number}?${VERSION}`, change);
  };

  return {
    find,
    open: async ({ head, base, title, body }) => {
      const wanted = {
        sourceRefName: `refs/heads/${head}`,
        targetRefName: `refs/heads/${base}`,
        title: clip(title, MAX_TITLE),
        description: clip(body, MAX_BODY),
      };
      const asked = await client.ask('POST', `${repo}/pullrequests?${VERSION}`, wanted, [409]);
      if (asked.status !== 409) return await toPullRequest(asked.body);
      // TF401179: another run has already opened it.
      const known = await find(head, base);
      if (known?.state === 'open') return known;
      const { message } = (asked.body ?? {}) as Record<string, unknown>;
      throw new FleetError(
        'FORGE_REFUSED',
        `Azure DevOps does not open a pull request: ${typeof message === 'string' ? clip(message, 300) : 'it gives no reason'}`,
      );
    },
    edit: (number, { title, body }) =>
      update(number, { title: clip(title, MAX_TITLE), description: clip(body, MAX_BODY) }),
    addLabels: async (number, labels) => {
      for (const label of labels)
        await client.ask('POST', `${repo}/pullRequests/${number}/labels?${VERSION}`, { name: label });
    },
    close: (number) => update(number, { status: 'abandoned' }),
    setCommitStatus: async ({ commit, state, context, description, url }) => {
      await client.ask(
        'POST',
        `${repo}/commits/${commit}/statuses?${VERSION}`,
        defined({
          state: STATES[state],
          description,
          context: { name: context, genre: GENRE },
          targetUrl: url,
        }),
      );
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

const idOf = (one: Record<string, unknown>): number => fieldOf(one, 'pullRequestId', 'number');

/** Lists are objects: {count, value}. */
const valuesOf = (body: unknown): readonly Record<string, unknown>[] =>
  listOf((body as Record<string, unknown> | undefined)?.['value']);
