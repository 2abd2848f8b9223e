import type { ForgeState, KeptPullRequest, Route } from './forge-server.ts';

/** GitLab's REST API v4 for the project 'org/gitops'; shapes as in its reference ("Merge requests API", "Commits API"). */
export const gitLabRoutes = ({
  pulls,
  statuses,
  hasCommit,
  hasBranch,
  labelNamed,
  add,
}: ForgeState): Route => {
  const project = '/api/v4/projects/org%2Fgitops';

  const show = (pull: KeptPullRequest) => ({
    id: 9000 + pull.number,
    iid: pull.number,
    project_id: 3,
    source_project_id: 3,
    target_project_id: 3,
    title: pull.title,
    description: pull.body,
    state: pull.merged ? 'merged' : unmerged(pull.state),
    source_branch: pull.head,
    target_branch: pull.base,
    labels: pull.labels.map(({ name }) => name),
    web_url: `https://forge.example/org/gitops/pulls/${pull.number}`,
  });

  const change = (pull: KeptPullRequest, { title, description, ...body }: Record<string, unknown>): void => {
    if (typeof title === 'string') pull.title = title;
    if (typeof description === 'string') pull.body = description;
    if (body['state_event'] === 'close') pull.state = 'closed';
    const added = body['add_labels'];
    for (const name of typeof added === 'string' ? added.split(',') : []) {
      const label = labelNamed(name);
      if (!pull.labels.includes(label)) pull.labels = [...pull.labels, label];
    }
  };

  return async (method, { pathname, searchParams }, body) => {
    const [, number] = new RegExp(`^${project}/merge_requests(?:/(\\d+))?$`).exec(pathname) ?? ['', 'none'];
    if (number === undefined && method === 'GET') {
      const [head, base] = [searchParams.get('source_branch'), searchParams.get('target_branch')];
      const found = pulls.toReversed().filter((pull) => pull.head === head && pull.base === base);
      return [200, found.map(show)];
    }
    if (number === undefined && method === 'POST') {
      const [head, base] = [String(body['source_branch']), String(body['target_branch'])];
      const open = pulls.find((pull) => pull.state === 'open' && pull.head === head);
      if (open) {
        const reason = `Another open merge request already exists for this source branch: !${open.number}`;
        return [409, { message: [reason] }];
      }
      if (!(await hasBranch(head))) return [400, { message: { source_branch: ['does not exist'] } }];
      const words = { title: String(body['title']), body: String(body['description']) };
      return [201, show(add({ head, base, ...words }))];
    }
    const pull = pulls[Number(number) - 1];
    if (pull && method === 'PUT') {
      change(pull, body);
      return [200, show(pull)];
    }
    const [, commit] = new RegExp(`^${project}/statuses/([0-9a-f]{40})$`).exec(pathname) ?? [];
    if (commit !== undefined && method === 'POST') {
      if (!(await hasCommit(commit))) return [404, { message: '404 Commit Not Found' }];
      const [state, context] = [String(body['state']), String(body['name'])];
      const before = statuses.findLast((one) => one.sha === commit && one.context === context);
      if (state === 'pending' && before?.state === state) {
        const reason = 'Cannot transition status via :enqueue from :pending';
        return [400, { message: `${reason} (Reason(s): Status cannot transition via "enqueue")` }];
      }
      statuses.push({ ...body, sha: commit, state, context });
      return [201, { id: 90 + statuses.length, sha: commit, status: state, name: context }];
    }
    return [404, { message: '404 Project Not Found' }];
  };
};

const unmerged = (state: string): string => (state === 'open' ? 'opened' : 'closed');
