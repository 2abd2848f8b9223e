import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lifeOf } from '../../../../scheduler/hub/people/people.ts';
import { readPeople } from '../../../../scheduler/hub/people/read-people.ts';
import { allowancesOf, isAdmin, rulesOf } from '../../../../scheduler/hub/people/role.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { formatAllowance, parseAllowance } from '../../../../scheduler/hub/sites/tokens/allowance.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const SIGN_IN = `signIn:
  publicUrl: https://hub.example:8443/
  issuer: https://login.example/realms/office
  clientId: fleet-ferry
`;

const read = async (yaml: string, secret = 'not for everybody\n') => {
  await using folder = await temporaryDirectory('people');
  await writeFile(join(folder.path, 'fleet-scheduler.yaml'), yaml);
  await writeFile(join(folder.path, 'oidc-secret'), secret);
  return await readPeople(await readConfiguration({}, folder.path));
};

const refused = (message: RegExp) => ({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });

describe('signIn and roles of the configuration', () => {
  test('set the provider, its client secret file, and the roles', async () => {
    const people = await read(
      `${SIGN_IN}  clientSecretFile: oidc-secret\n  sessionHours: 2\n  idleMinutes: 10\nroles: [{role: viewer, groups: [all]}]\n`,
    );
    expect(people).toMatchObject({
      origin: 'https://hub.example:8443',
      sessionMs: 7_200_000,
      idleMs: 600_000,
      roles: [{ role: 'viewer', groups: ['all'] }],
      oidc: { clientSecret: 'not for everybody', personClaim: 'email', groupsClaim: 'groups' },
    });
    expect(await read('{}')).toMatchObject({ oidc: undefined, roles: [] });
  });

  test('give a session with decision rights a shorter lifetime', async () => {
    const hours = (role: 'viewer' | 'admin', people: Parameters<typeof lifeOf>[1]): number =>
      lifeOf([{ role: 'viewer' }, { role }], people) / 3_600_000;
    const usual = await read('{}');
    expect([hours('viewer', usual), hours('admin', usual)]).toEqual([12, 4]);
    const short = await read(`${SIGN_IN}  sessionHours: 2\n`);
    expect([hours('viewer', short), hours('admin', short)]).toEqual([2, 2]);
    const deciding = await read(`${SIGN_IN}  decidingHours: 1\n`);
    expect([hours('viewer', deciding), hours('admin', deciding)]).toEqual([12, 1]);
  });

  test.each([
    ['roles: [{role: admin, groups: [a], workspaces: [production]}]', /admin decides about whole/],
    ['roles: [{role: viewer, groups: [a], sites: {site: plant-7}}]', /viewer is about environments/],
    ['roles: [{role: editor, groups: [a], environments: [prod]}]', /editor is about sites/],
    ['roles: [{role: admin}]', /no person has the role admin/],
    ['roles: [{role: owner, groups: [a]}]', /roles\.0\.role/],
    ['roles: [{role: viewer, groups: [a], environments: [Prod]}]', /DNS label/],
    [SIGN_IN.replace('https://login', 'http://login'), /http:\/\/ at loopback only/],
    [SIGN_IN.replace('8443/', '8443/ui'), /publicUrl has no path/],
    [SIGN_IN.replace('  clientId: fleet-ferry\n', ''), /clientId/],
    [`${SIGN_IN}  clientSecretFile: nowhere\n`, /no such file/],
    [`${SIGN_IN}  secret: x\n`, /secret/],
  ])('are refused in one message: %j', async (yaml, message) => {
    await expect(read(yaml)).rejects.toMatchObject(refused(message));
  });

  test('are refused when the file of the secret is empty', async () => {
    await expect(read(`${SIGN_IN}  clientSecretFile: oidc-secret\n`, '\n')).rejects.toMatchObject(
      refused(/first line of the file is empty/),
    );
  });
});

describe('roles', () => {
  const rules = [
    { role: 'operator', groups: ['line-3'], environments: ['prod'] },
    { role: 'viewer', people: ['mara@example.com'], environments: ['qa'], workspaces: ['production'] },
    { role: 'admin', groups: ['fleet-admins'] },
  ] as const;
  const may = (person: string, ...groups: readonly string[]): readonly string[] =>
    allowancesOf(rulesOf(rules, { person, groups })).map(formatAllowance);

  test('add up for one person, by group and by name ignoring case', () => {
    expect(may('Mara@Example.com', 'line-3')).toEqual([
      'read:prod',
      'promote:prod',
      'pause:prod',
      'resume:prod',
      'rollback:prod',
      'rollout:prod',
      'record:prod',
      'wait:prod',
      'alarms:prod',
      'read:qa/production',
    ]);
    expect(may('otto@example.com', 'line-33')).toEqual([]);
    expect(may('line-3')).toEqual([]);
  });

  test('limit an operator of a workspace to its assignments and their alarms', () => {
    const operator = {
      role: 'operator',
      groups: ['bakers'],
      environments: ['prod'],
      workspaces: ['bakery'],
    } as const;
    expect(allowancesOf([operator]).map(formatAllowance)).toEqual([
      'read:prod/bakery',
      'rollback:prod/bakery',
      'alarms:prod/bakery',
    ]);
    expect(parseAllowance('rollback:prod/bakery')).toEqual({
      verb: 'rollback',
      environment: 'prod',
      workspace: 'bakery',
    });
    expect(() => parseAllowance('promote:prod/bakery')).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  test('limit an approver of a workspace to its changes', () => {
    const [mine, all] = [{ workspaces: ['bakery'] }, {}].map((limit) =>
      allowancesOf([{ role: 'approver', groups: ['bakers'], environments: ['prod'], ...limit }]),
    );
    expect(mine?.map(formatAllowance)).toEqual([
      'read:prod/bakery',
      'approve:prod/bakery',
      'reject:prod/bakery',
    ]);
    expect(mine?.map(formatAllowance).map(parseAllowance)).toEqual(mine);
    expect(all?.map(formatAllowance)).toEqual(['read:prod', 'approve:prod', 'reject:prod', 'wait:prod']);
  });

  test('let an editor change values of sites alone, and an admin of everything those of all sites', () => {
    const editor = { role: 'editor', groups: ['it'], sites: { site: 'plant-7' } } as const;
    expect(allowancesOf([editor]).map(formatAllowance)).toEqual(['values:site=plant-7']);
    const limited = allowancesOf([{ ...editor, editableBy: ['site', 'network'] }]).map(formatAllowance);
    expect(limited).toEqual(['values:site=plant-7:site', 'values:site=plant-7:network']);
    const values = (environments?: readonly string[]) =>
      allowancesOf([{ role: 'admin', groups: ['a'], ...(environments && { environments }) }])
        .map(formatAllowance)
        .filter((one) => one.startsWith('values'));
    expect([values(), values(['prod'])]).toEqual([['values:*'], []]);
  });

  test('let only an admin of all environments end the sessions of others', () => {
    expect(isAdmin([{ role: 'admin', groups: ['a'] }])).toBe(true);
    expect(isAdmin([{ role: 'admin', groups: ['a'], environments: ['prod'] }])).toBe(false);
    expect(isAdmin([{ role: 'operator', groups: ['a'] }])).toBe(false);
  });
});
