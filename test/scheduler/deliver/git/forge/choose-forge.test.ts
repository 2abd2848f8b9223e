import { afterEach, expect, test } from 'vitest';
import { isFleetError } from '../../../../../bundles/errors.ts';
import { chooseForge } from '../../../../../scheduler/deliver/git/forge/choose-forge.ts';
import type { Forge } from '../../../../../scheduler/deliver/git/forge/forge.ts';

const opened: Forge[] = [];
afterEach(async () => {
  for (const forge of opened.splice(0)) await forge[Symbol.asyncDispose]();
});

const choose = (repo: string, env: Record<string, string>, forge?: string): string => {
  try {
    const { signal } = new AbortController();
    const found = chooseForge(repo, { forge, env, connection: { plainHttp: [], env: {} }, signal });
    if (found) opened.push(found);
    return found ? 'a forge' : 'none';
  } catch (error) {
    return isFleetError(error) ? error.code : 'another error';
  }
};

test('GITHUB_TOKEN is used for github.com only', () => {
  const env = { GITHUB_TOKEN: 't' };
  expect(choose('https://github.com/org/gitops', env)).toBe('a forge');
  expect(choose('git@github.com:org/gitops.git', env)).toBe('a forge');
  expect(choose('https://github.com.evil.example/org/gitops', env, 'github')).toBe('none');
  expect(choose('https://git.example/org/gitops', env, 'gitea')).toBe('none');
  expect(choose('https://github.com/org/gitops', env, 'github=https://evil.example')).toBe('none');
});

test('a token without a known forge is a usage error; a missing token is not', () => {
  const env = { FLEET_FORGE_TOKEN: 't' };
  expect(choose('https://git.example/org/gitops', env)).toBe('USAGE');
  expect(choose('https://git.example/org/gitops', env, 'gitea')).toBe('a forge');
  expect(choose('ssh://git@git.example:2222/org/gitops.git', env, 'github')).toBe('a forge');
  expect(choose('https://git.example/org/gitops', {})).toBe('none');
  expect(choose('https://git.example/gitops', env, 'gitea')).toBe('USAGE');
});

test('github.com, gitlab.com and Azure DevOps need no --forge', () => {
  const env = { FLEET_FORGE_TOKEN: 't' };
  for (const repo of [
    'https://github.com/org/gitops',
    'https://gitlab.com/group/subgroup/gitops.git',
    'git@gitlab.com:group/gitops.git',
    'https://org@dev.azure.com/org/project/_git/gitops',
    'git@ssh.dev.azure.com:v3/org/project/gitops',
    'https://org.visualstudio.com/DefaultCollection/project/_git/gitops',
  ])
    expect(choose(repo, env), repo).toBe('a forge');
  expect(choose('https://dev.azure.com/org/project', env)).toBe('USAGE');
  expect(choose('https://git.example/org/gitops', env, 'azure')).toBe('USAGE');
});

test('a token is refused for plain HTTP to another machine, and for an invalid forge', () => {
  const env = { FLEET_FORGE_TOKEN: 't' };
  for (const forge of ['gitea=http://git.example/api/v1', 'bitbucket', 'gitea=', 'gitea=git.example'])
    expect(choose('https://git.example/org/gitops', env, forge), forge).toBe('USAGE');
  expect(choose('https://git.example/org/gitops', env, 'gitea=http://127.0.0.1:3000/api/v1')).toBe('a forge');
});
