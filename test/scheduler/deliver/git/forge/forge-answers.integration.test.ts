import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { chooseForge } from '../../../../../scheduler/deliver/git/forge/choose-forge.ts';
import type { Forge } from '../../../../../scheduler/deliver/git/forge/forge.ts';
import type { ForgeKind } from '../../../../harness/neighbours/forge-server.ts';

const COMMIT = '67cae2b029dff7eb3dc062b49403aaedca5bad8d';
const TOKEN = 'a-token-that-nobody-may-see';

/** A server with fixed answers, in the order of the requests. */
const answering = async (...answers: readonly (readonly [number, unknown])[]) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const [status, body] = answers[asked.length] ?? [500, { message: 'not expected' }];
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    api: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const open = (kind: ForgeKind, api: string, repo: string): Forge => {
  const forge = chooseForge(repo, {
    forge: `${kind}=${api}`,
    env: { FLEET_FORGE_TOKEN: TOKEN },
    connection: { plainHttp: [], env: {} },
    signal: new AbortController().signal,
  });
  if (!forge) throw new Error('no forge');
  return forge;
};

const GITLAB = 'https://gitlab.example/platform/edge/gitops.git';
const AZURE = 'https://dev.azure.com/fabrikam/My%20Fleet/_git/gitops';

/** From the reference of GitLab's "Merge requests API", less the fields about people and pipelines. */
const MERGE_REQUEST = {
  id: 33092005,
  iid: 109,
  project_id: 7,
  title: 'Update the manifests of qa',
  state: 'opened',
  target_branch: 'qa',
  source_branch: 'deployment/0123456789ab',
  labels: ['promoted'],
  source_project_id: 7,
  target_project_id: 7,
  web_url: 'https://gitlab.example/platform/edge/gitops/-/merge_requests/109',
};

/** From the reference of Azure DevOps, "Pull Requests - Get Pull Requests". */
const AZURE_PULL_REQUEST = {
  repository: { id: '3411ebc1-d5aa-464f-9615-0b527bc66719', name: 'gitops' },
  pullRequestId: 22,
  codeReviewId: 22,
  status: 'active',
  title: 'A new feature',
  sourceRefName: 'refs/heads/deployment/0123456789ab',
  targetRefName: 'refs/heads/qa',
};

test('a merge request from a fork with a branch of the same name is not ours', async () => {
  await using server = await answering([
    200,
    [{ ...MERGE_REQUEST, iid: 110, source_project_id: 8 }, MERGE_REQUEST],
  ]);
  await using forge = open('gitlab', `${server.api}/api/v4`, GITLAB);
  expect(await forge.find('deployment/0123456789ab', 'qa')).toEqual({
    number: 109,
    url: MERGE_REQUEST.web_url,
    state: 'open',
    labels: ['promoted'],
  });
  expect(server.asked).toEqual([
    'GET /api/v4/projects/platform%2Fedge%2Fgitops/merge_requests?state=all&source_branch=deployment%2F0123456789ab&target_branch=qa&order_by=created_at&sort=desc&per_page=100&page=1',
  ]);
});

test('GitLab below a path: the path is not a group', async () => {
  await using server = await answering([200, []]);
  await using forge = open('gitlab', `${server.api}/tools/api/v4`, 'https://host.example/tools/group/gitops');
  expect(await forge.find('a', 'b')).toBeUndefined();
  expect(server.asked[0]).toContain('/tools/api/v4/projects/group%2Fgitops/merge_requests?');
});

test('the newest pull request of Azure DevOps is the one with the highest number, without forks', async () => {
  const [older, newer] = [21, 22].map((pullRequestId) => ({ ...AZURE_PULL_REQUEST, pullRequestId }));
  const fork = { ...AZURE_PULL_REQUEST, pullRequestId: 23, forkSource: { name: 'refs/heads/x' } };
  await using server = await answering(
    [200, { count: 100, value: [...Array.from({ length: 99 }, () => older), fork] }],
    [200, { count: 1, value: [{ ...newer, status: 'abandoned' }] }],
    [200, { count: 1, value: [{ id: '1', name: 'superseded', active: true }] }],
  );
  await using forge = open('azure', server.api, AZURE);
  expect(await forge.find('deployment/0123456789ab', 'qa')).toEqual({
    number: 22,
    url: `${server.api}/My%20Fleet/_git/gitops/pullrequest/22`,
    state: 'closed',
    labels: ['superseded'],
  });
  expect(server.asked.map((one) => one.replace(/searchCriteria.*status=all&/, ''))).toEqual([
    'GET /My%20Fleet/_apis/git/repositories/gitops/pullrequests?%24top=100&%24skip=0&api-version=7.0',
    'GET /My%20Fleet/_apis/git/repositories/gitops/pullrequests?%24top=100&%24skip=100&api-version=7.0',
    'GET /My%20Fleet/_apis/git/repositories/gitops/pullRequests/22/labels?api-version=7.0',
  ]);
});

test.each([
  // The bodies are those of the forges' own references and issue trackers.
  ['gitlab', GITLAB, 401, { message: '401 Unauthorized' }, 'FORGE_REFUSED', '401 Unauthorized'],
  [
    'gitlab',
    GITLAB,
    401,
    { error: 'invalid_token', error_description: 'Token was revoked.' },
    'FORGE_REFUSED',
    'revoked',
  ],
  ['gitlab', GITLAB, 400, { message: { title: ["can't be blank"] } }, 'FORGE_REFUSED', "can't be blank"],
  ['gitlab', GITLAB, 429, 'Retry later', 'FORGE_UNREACHABLE', '429'],
  ['azure', AZURE, 203, '<html>Sign In</html>', 'FORGE_REFUSED', '203'],
  ['azure', AZURE, 302, '<html>Object moved</html>', 'FORGE_REFUSED', '302'],
  [
    'azure',
    AZURE,
    404,
    { message: 'TF401019: The Git repository does not exist.', errorCode: 0 },
    'FORGE_REFUSED',
    'TF401019',
  ],
  [
    'azure',
    AZURE,
    503,
    { message: 'TF400733: The request has been canceled' },
    'FORGE_UNREACHABLE',
    'TF400733',
  ],
] as const)(
  '%s: the answer %3$s %4$o is reported with its reason',
  async (kind, repo, status, body, code, words) => {
    await using server = await answering([status, body]);
    await using forge = open(kind, server.api, repo);
    const error: unknown = await forge.find('a', 'b').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(JSON.stringify(error) + String(error)).not.toContain(TOKEN);
  },
);

test('a status that GitLab refuses for another reason is an error', async () => {
  const unknown = { message: { state: ['is invalid'] } };
  await using server = await answering([400, unknown], [404, { message: '404 Commit Not Found' }]);
  await using forge = open('gitlab', server.api, GITLAB);
  const status = { commit: COMMIT, state: 'success', context: 'qa', description: 'Deployed' } as const;
  await expect(forge.setCommitStatus(status)).rejects.toMatchObject({
    code: 'FORGE_REFUSED',
    message: expect.stringContaining('is invalid'),
  });
  await expect(forge.setCommitStatus(status)).rejects.toThrow('404 Commit Not Found');
});
