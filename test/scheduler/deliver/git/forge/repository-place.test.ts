import { expect, test } from 'vitest';
import { placeOf } from '../../../../../scheduler/deliver/git/forge/repository-place.ts';

test.each([
  ['https://git.example/org/gitops.git', 'git.example', 'org/gitops'],
  ['https://git.example:8443/group/subgroup/gitops/', 'git.example', 'group/subgroup/gitops'],
  ['ssh://git@git.example:2222/org/gitops.git', 'git.example', 'org/gitops'],
  ['git@GIT.example:org/gitops.git', 'git.example', 'org/gitops'],
  ['https://git.example/my%20org/gitops', 'git.example', 'my org/gitops'],
])('%s is on a server and has a path', (repo, host, path) => {
  const place = placeOf(repo);
  expect(place).toMatchObject({ host, azure: undefined });
  expect(place?.segments.join('/')).toBe(path);
});

test.each(['https://git.example/gitops', 'git.example', '/srv/git/gitops', 'https://git.example//gitops'])(
  '%s is not a repository of a forge',
  (repo) => {
    expect(placeOf(repo)).toBeUndefined();
  },
);

// The forms of https://learn.microsoft.com/azure/devops/repos/git and of older organizations.
test.each([
  ['https://dev.azure.com/halden/fleet/_git/gitops', 'https://dev.azure.com/halden', 'fleet', 'gitops'],
  [
    'https://halden@dev.azure.com/halden/My%20Fleet/_git/gitops',
    'https://dev.azure.com/halden',
    'My Fleet',
    'gitops',
  ],
  ['https://dev.azure.com/halden/_git/gitops', 'https://dev.azure.com/halden', 'gitops', 'gitops'],
  ['git@ssh.dev.azure.com:v3/halden/fleet/gitops', 'https://dev.azure.com/halden', 'fleet', 'gitops'],
  ['https://halden.visualstudio.com/fleet/_git/gitops', 'https://halden.visualstudio.com', 'fleet', 'gitops'],
  [
    'https://halden.visualstudio.com/DefaultCollection/fleet/_git/gitops',
    'https://halden.visualstudio.com/DefaultCollection',
    'fleet',
    'gitops',
  ],
  ['https://tfs.example/tfs/Main/fleet/_git/gitops', 'https://tfs.example/tfs/Main', 'fleet', 'gitops'],
])('%s is a repository of Azure DevOps', (repo, collection, project, name) => {
  expect(placeOf(repo)?.azure).toEqual({ collection, project, name });
});
