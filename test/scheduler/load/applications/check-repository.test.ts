import { describe, expect, it } from 'vitest';
import { FleetError } from '../../../../bundles/errors.ts';
import { checkRepository } from '../../../../scheduler/load/applications/check-repository.ts';
import type { Platform, Workspace } from '../../../../scheduler/model/model.ts';
import { parseAddress } from '../../../../scheduler/model/repository-address.ts';
import { platform, target } from '../../model-objects.ts';

const registered = (repo: string, workspace: string) =>
  ({ repo, workspace, location: { kind: 'git', repo, revision: { kind: 'head' } }, path: '.' }) as const;

const REPOSITORIES: Platform['repositories'] = new Map([
  ['shop', registered('https://git.example/acme/shop', 'sales')],
  ['till', registered('https://git.example/acme/till', 'sales')],
  ['payroll', registered('https://git.example/acme/payroll', 'hr')],
  ['local', registered('../apps/local', 'sales')],
  ['lone', registered('https://git.example/lone', 'sales')],
  ['mirror', registered('file:///srv/git/mirror', 'sales')],
]);

const workspace = (...repositories: readonly string[]): Workspace => ({
  name: 'sales',
  host: { paths: [], units: [], users: [], secretSets: [] },
  siteValues: [],
  critical: false,
  repositories: repositories.flatMap((one) => parseAddress(one) ?? []),
  at: { file: 'x' },
});

/** The code that a repository is refused with, or ACCEPT. */
const answer = (
  repo: string,
  { registration = 'shop', mapped = false, workspaces = [] as readonly Workspace[] } = {},
): string => {
  const one = platform({ repositories: REPOSITORIES, workspaces });
  try {
    checkRepository(one, target('shop/web', { registration, workspace: 'sales' }), repo, mapped);
    return 'ACCEPT';
  } catch (error) {
    return error instanceof FleetError ? error.code : String(error);
  }
};

describe("the repository of an application's files", () => {
  it("may be the application's own, or one of the same owner, without a Workspace list", () => {
    expect(answer('https://git.example/acme/shop.git')).toBe('ACCEPT');
    expect(answer('https://git.example/acme/shop-gitops')).toBe('ACCEPT');
    expect(answer('https://git.example/acme/till')).toBe('ACCEPT');
    expect(answer('https://git.example/lone', { registration: 'lone' })).toBe('ACCEPT');
    expect(answer('file:///srv/git/mirror', { registration: 'mirror' })).toBe('ACCEPT');
  });

  it.each([
    ['of another owner', 'https://git.example/other/priv'],
    ['on another host', 'https://git.elsewhere.example/acme/shop'],
    ['on another port', 'https://git.example:8443/acme/shop'],
    ['without TLS', 'http://git.example/acme/shop-gitops'],
    ['by another transport', 'git@git.example:acme/shop-gitops'],
    ['whose owner begins alike', 'https://git.example/acme-corp/priv'],
    ['of another workspace', 'https://git.example/acme/payroll'],
    ['of another workspace, written otherwise', 'https://git.example/acme/Pay%72oll.git/'],
  ])('N12: is refused %s -> REPOSITORY_FOREIGN', (_, repo) => {
    expect(answer(repo)).toBe('REPOSITORY_FOREIGN');
  });

  it('N12: of a host without owners is refused but for the own one -> REPOSITORY_FOREIGN', () => {
    expect(answer('https://git.example/priv', { registration: 'lone' })).toBe('REPOSITORY_FOREIGN');
    expect(answer('https://git.example/acme/shop', { registration: 'local' })).toBe('REPOSITORY_FOREIGN');
  });

  it.each([
    'file:///srv/git/priv',
    '/srv/git/priv',
    '../apps/local',
    'ext::sh -c id',
    '--upload-pack=id',
    'https://git.example/acme/../other/priv',
    'https://token@git.example/acme/shop-gitops',
  ])('N13: %j is refused -> FIELD_INVALID', (repo) => {
    expect(answer(repo, { registration: 'local' })).toBe('FIELD_INVALID');
    expect(answer(repo)).toBe('FIELD_INVALID');
  });

  it('may be one that the Workspace lists, and then no other of the owner', () => {
    const workspaces = [workspace('https://git.example/sales/', 'https://git.example/acme/payroll')];
    expect(answer('https://git.example/sales/gitops', { workspaces })).toBe('ACCEPT');
    expect(answer('https://git.example/acme/payroll', { workspaces })).toBe('ACCEPT');
    expect(answer('https://git.example/acme/shop', { workspaces })).toBe('ACCEPT');
    expect(answer('https://git.example/acme/shop-gitops', { workspaces })).toBe('REPOSITORY_FOREIGN');
    expect(answer('https://git.example/acme/till', { workspaces: [workspace()] })).toBe('REPOSITORY_FOREIGN');
    const wide = [workspace('https://git.example/acme/')];
    expect(answer('https://git.example/acme/payroll', { workspaces: wide })).toBe('REPOSITORY_FOREIGN');
  });

  it('may be any that the operator maps, unless another workspace lists it', () => {
    expect(answer('https://other.example/a/b', { mapped: true })).toBe('ACCEPT');
    expect(answer('file:///srv/any', { mapped: true })).toBe('ACCEPT');
    expect(answer('https://git.example/acme/payroll', { mapped: true })).toBe('REPOSITORY_FOREIGN');
  });

  it('may be any for a workload of the platform itself', () => {
    const one = platform({ repositories: REPOSITORIES });
    expect(() => checkRepository(one, target('shop/web'), 'file:///srv/any', false)).not.toThrow();
  });
});
