import type { ForgeAnswer, ForgeState, KeptPullRequest, Route } from './forge-server.ts';

/** Azure DevOps' REST API for the repository 'gitops' of the project 'org'; shapes as in its reference ("Git"). */
export const azureRoutes = ({
  pulls,
  statuses,
  hasCommit,
  hasBranch,
  labelNamed,
  add,
}: ForgeState): Route => {
  const repo = '/org/org/_apis/git/repositories/gitops';

  const show = (pull: KeptPullRequest) => ({
    repository: { id: '3411ebc1-d5aa-464f-9615-0b527bc66719', name: 'gitops' },
    pullRequestId: pull.number,
    codeReviewId: pull.number,
    status: pull.merged ? 'completed' : unmerged(pull.state),
    title: pull.title,
    // Lists have no more of it.
    description: pull.body.slice(0, 400),
    sourceRefName: `refs/heads/${pull.head}`,
    targetRefName: `refs/heads/${pull.base}`,
  });
  const list = (value: readonly unknown[]): ForgeAnswer => [200, { count: value.length, value }];
  const branchOf = (ref: unknown): string => String(ref).replace(/^refs\/heads\//, '');
  const fault = (status: number, message: string, typeKey: string): ForgeAnswer => [
    status,
    { $id: '1', innerException: null, message, typeName: typeKey, typeKey, errorCode: 0, eventId: 3000 },
  ];

  const open = async (body: Record<string, unknown>): Promise<ForgeAnswer> => {
    const [head, base] = [branchOf(body['sourceRefName']), branchOf(body['targetRefName'])];
    if (pulls.some((pull) => pull.state === 'open' && pull.head === head && pull.base === base))
      return fault(
        409,
        'TF401179: An active pull request for the source and target branch already exists.',
        'GitPullRequestExistsException',
      );
    if (!(await hasBranch(head)) || !(await hasBranch(base)))
      return fault(400, 'TF401398: The pull request cannot be activated.', 'GitPullRequestStaleException');
    const [title, text] = [String(body['title']), String(body['description'])];
    if (text.length > 4000)
      return fault(
        400,
        'The maximum length of a description is 4000 characters.',
        'InvalidArgumentValueException',
      );
    return [201, show(add({ head, base, title, body: text }))];
  };

  return async (method, { pathname, searchParams }, body) => {
    if (searchParams.get('api-version') !== '7.0')
      return fault(400, 'No api-version was supplied.', 'VssVersionNotSpecifiedException');
    if (pathname === `${repo}/pullrequests` && method === 'POST') return await open(body);
    if (pathname === `${repo}/pullrequests`) {
      const found = pulls.filter(
        (pull) =>
          pull.head === branchOf(searchParams.get('searchCriteria.sourceRefName')) &&
          pull.base === branchOf(searchParams.get('searchCriteria.targetRefName')),
      );
      return list(found.map(show));
    }
    const [, number, labels] =
      new RegExp(`^${repo}/pullrequests/(\\d+)(/labels)?$`, 'i').exec(pathname) ?? [];
    const pull = pulls[Number(number) - 1];
    if (pull && labels !== undefined && method === 'GET') return list(pull.labels);
    if (pull && labels !== undefined) {
      const label = labelNamed(String(body['name']));
      if (!pull.labels.includes(label)) pull.labels = [...pull.labels, label];
      return [200, label];
    }
    if (pull && method === 'PATCH') {
      if (body['status'] === 'abandoned') pull.state = 'closed';
      if (typeof body['title'] === 'string') pull.title = body['title'];
      if (typeof body['description'] === 'string') pull.body = body['description'];
      return [200, show(pull)];
    }
    const [, commit] = new RegExp(`^${repo}/commits/([0-9a-f]{40})/statuses$`).exec(pathname) ?? [];
    if (commit !== undefined && method === 'POST') {
      if (!(await hasCommit(commit)))
        return fault(404, `TF401175: The commit ${commit} does not exist.`, 'GitCommitDoesNotExistException');
      const { name, genre } = body['context'] as { readonly name: string; readonly genre: string };
      statuses.push({ ...body, genre, sha: commit, state: String(body['state']), context: name });
      return [201, { id: statuses.length, ...body }];
    }
    return fault(404, 'TF401019: The Git repository does not exist.', 'GitRepositoryNotFoundException');
  };
};

const unmerged = (state: string): string => (state === 'open' ? 'active' : 'abandoned');
