import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { CommitStatus, Forge, PullRequest } from './forge.ts';
import { clip, type ForgeAccess, fieldOf, listOf, openForgeClient } from './forge-client.ts';

/** Page size for merge requests, and the maximum number of pages. */
const PAGE = 100;
const PAGES = 20;

/** Longest title of a merge request, and longest description of a status. */
const MAX_TEXT = 255;

const STATES = { pending: 'pending', success: 'success', failure: 'failed' } as const satisfies Record<
  CommitStatus['state'],
  string
>;

/** GitLab's REST API (v4) for one project. @param path of the project, with its groups: 'group/subgroup/name' */
export const openGitLab = (access: ForgeAccess, path: string): Forge => {
  const client = openForgeClient(access);
  const project = `projects/${encodeURIComponent(path)}`;

  const find: Forge['find'] = async (head, base) => {
    for (let page = 1; page <= PAGES; page += 1) {
      const query = new URLSearchParams({
        state: 'all',
        source_branch: head,
        target_branch: base,
        order_by: 'created_at',
        sort: 'desc',
        per_page: `${PAGE}`,
        page: `${page}`,
      });
      const all = listOf((await client.ask('GET', `${project}/merge_requests?${query.toString()}`)).body);
      const own = all.find((one) => one['source_project_id'] === one['target_project_id']);
      if (own) return toPullRequest(own);
      if (all.length < PAGE) return undefined;
    }
    return undefined;
  };

  return {
    find,
    open: async ({ head, base, title, body }) => {
      const wanted = {
        source_branch: head,
        target_branch: base,
        title: clip(title, MAX_TEXT),
        description: body,
      };
      const asked = await client.ask('POST', `${project}/merge_requests`, wanted, [409]);
      if (asked.status !== 409) return toPullRequest(asked.body);
      // Another run may have already opened it.
      const known = await find(head, base);
      if (known?.state === 'open') return known;
      throw new FleetError('FORGE_REFUSED', `GitLab does not open a merge request from ${head} to ${base}`);
    },
    edit: async (number, { title, body }) => {
      const words = { title: clip(title, MAX_TEXT), description: body };
      await client.ask('PUT', `${project}/merge_requests/${number}`, words);
    },
    addLabels: async (number, labels) => {
      await client.ask('PUT', `${project}/merge_requests/${number}`, { add_labels: labels.join(',') });
    },
    close: async (number) => {
      await client.ask('PUT', `${project}/merge_requests/${number}`, { state_event: 'close' });
    },
    setCommitStatus: async ({ commit, state, context, description, url }) => {
      const status = defined({
        state: STATES[state],
        name: context,
        description: clip(description, MAX_TEXT),
        target_url: url,
      });
      const asked = await client.ask('POST', `${project}/statuses/${commit}`, status, [400]);
      if (asked.status !== 400) return;
      // GitLab refuses to set a status to the state that it has.
      const { message } = (asked.body ?? {}) as Record<string, unknown>;
      if (typeof message === 'string' && message.startsWith('Cannot transition status via ')) return;
      throw new FleetError(
        'FORGE_REFUSED',
        `GitLab does not set the status ${context} of ${commit}: ${clip(JSON.stringify(message ?? null), 300)}`,
      );
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

const toPullRequest = (found: unknown): PullRequest => {
  const state = fieldOf(found, 'state', 'string');
  const { labels } = found as Record<string, unknown>;
  return {
    // The number within the project; `id` is GitLab's own.
    number: fieldOf(found, 'iid', 'number'),
    url: fieldOf(found, 'web_url', 'string'),
    // 'locked': a merge is being carried out.
    state: state === 'merged' || state === 'closed' ? state : 'open',
    labels: Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [],
  };
};
