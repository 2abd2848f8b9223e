import { describe, expect, it, test } from 'vitest';
import { builtInTemplates } from '../../../scheduler/load/platform/built-in-templates.ts';
import type { DeploymentTarget, HostGrants, Platform, Value } from '../../../scheduler/model/model.ts';
import { parseAddress } from '../../../scheduler/model/repository-address.ts';
import { schedulePlatform } from '../../../scheduler/plan/schedule/schedule-platform.ts';
import { renderPlatform } from '../../../scheduler/render/render-platform.ts';
import { clusterType, layer, platform, policy, target, template } from '../model-objects.ts';

const OWN = 'https://git.example/acme/shop';
const location = { kind: 'git', repo: OWN, revision: { kind: 'head' } } as const;
const NOTHING: HostGrants = { paths: [], units: [], users: [], secretSets: [] };

type Wanted = {
  readonly reconciler: string;
  readonly manifests: Readonly<Record<string, Value>>;
  readonly settings?: Readonly<Record<string, Value>>;
  readonly target?: Partial<DeploymentTarget>;
  readonly more?: Partial<Platform>;
};

/** The codes that hold the assignment of a registered application; none if it is rendered. */
const heldBy = ({ reconciler, manifests, settings = {}, target: its, more }: Wanted) => {
  const whole = platform({
    form: 'fleet',
    templates: new Map(builtInTemplates().map((one) => [one.name, one])),
    clusterTypes: [clusterType('edge', { reconciler, namespaceService: 'none', configType: 'configmap' })],
    targets: [target('shop/web', { registration: 'shop', workspace: 'sales', manifests, ...its })],
    policies: [policy('all')],
    configs: [
      layer('x', { values: { reconciler: { secret: 'git', registry: 'r.example/x', ...settings } } }),
    ],
    repositories: new Map([['shop', { location, path: '.', repo: OWN, workspace: 'sales' }]]),
    ...more,
  });
  return renderPlatform(whole, schedulePlatform(whole)).held.map(({ error }) => error);
};

const granting = (...repositories: readonly string[]): Partial<Platform> => ({
  workspaces: [
    {
      name: 'sales',
      host: NOTHING,
      siteValues: [],
      critical: false,
      repositories: repositories.flatMap((one) => parseAddress(one) ?? []),
      at: { file: 'x' },
    },
  ],
});

const RECONCILERS = ['flux', 'argocd', 'rancher-fleet', 'symphony', 'ansible-pull'];
const manifestsOf = (repo: string) => ({ repo, branch: 'main', path: 'site.yml' });
/** So that the user of ansible-pull is not what is judged. */
const settings = { ownUser: true };

describe('a repository that another reconciler fetches for a registered application', () => {
  it.each(RECONCILERS)(
    'N18: is refused to %s when it is of another owner -> REPOSITORY_FOREIGN',
    (reconciler) => {
      for (const repo of [
        'https://evil.example/x/y',
        'https://git.example/other/shop',
        'git@git.example:acme/shop',
      ])
        expect(heldBy({ reconciler, manifests: manifestsOf(repo), settings })).toMatchObject([
          { code: 'REPOSITORY_FOREIGN' },
        ]);
    },
  );

  it.each(RECONCILERS)('N18: is refused to %s when it is not an address -> FIELD_INVALID', (reconciler) => {
    for (const repo of ['file:///srv/git/x', 'https://user:secret@git.example/acme/shop', '../x'])
      expect(heldBy({ reconciler, manifests: manifestsOf(repo), settings })).toMatchObject([
        { code: 'FIELD_INVALID' },
      ]);
  });

  it.each(RECONCILERS)('is rendered for %s when it is its own, of its owner, or granted', (reconciler) => {
    expect(heldBy({ reconciler, manifests: manifestsOf(`${OWN}.git`), settings })).toEqual([]);
    expect(
      heldBy({ reconciler, manifests: manifestsOf('https://git.example/acme/deploy'), settings }),
    ).toEqual([]);
    const more = granting('https://other.example/team/');
    const granted = manifestsOf('https://other.example/team/deploy');
    expect(heldBy({ reconciler, manifests: granted, settings, more })).toEqual([]);
    const others = manifestsOf('https://git.example/acme/deploy');
    expect(heldBy({ reconciler, manifests: others, settings, more })).toMatchObject([
      { code: 'REPOSITORY_FOREIGN' },
    ]);
  });

  it('N18: is bounded for a template of the platform, and not for a Workload of the platform', () => {
    const own = template('own', 'reconciler', 'repo: {{ .Manifests.repo }}\n');
    const more = { templates: new Map([...builtInTemplates(), own].map((one) => [one.name, one])) };
    const manifests = manifestsOf('https://evil.example/x/y');
    expect(heldBy({ reconciler: 'own', manifests, more })).toMatchObject([{ code: 'REPOSITORY_FOREIGN' }]);
    expect(heldBy({ reconciler: 'own', manifests: { repo: [OWN] }, more })).toMatchObject([
      { code: 'FIELD_INVALID' },
    ]);
    const platforms = target('shop/web', { manifests });
    expect(heldBy({ reconciler: 'own', manifests, more: { ...more, targets: [platforms] } })).toEqual([]);
  });

  it('N18: may be a chart in a registry or chart repository that the Workspace lists', () => {
    const chart = { chart: 'oci://r.example/charts/shop', version: '1.2.3' };
    const byName = { chart: 'shop', repo: 'https://charts.example/x', version: '1.2.3' };
    const reconciler = 'rancher-fleet-helm';
    for (const manifests of [chart, byName])
      expect(heldBy({ reconciler, manifests })).toMatchObject([{ code: 'REPOSITORY_FOREIGN' }]);
    const more = granting('oci://r.example/charts', 'https://charts.example/x');
    for (const manifests of [chart, byName]) expect(heldBy({ reconciler, manifests, more })).toEqual([]);
  });

  it("is not restricted in Kalypso's form, until a Workspace lists repositories", () => {
    const manifests = manifestsOf('https://elsewhere.example/x/y');
    const form = 'kalypso' as const;
    expect(heldBy({ reconciler: 'flux', manifests, more: { form } })).toEqual([]);
    expect(heldBy({ reconciler: 'flux', manifests, more: { form, ...granting(OWN) } })).toMatchObject([
      { code: 'REPOSITORY_FOREIGN' },
    ]);
  });
});

describe('the user that ansible-pull runs as for a registered application', () => {
  const manifests = manifestsOf(OWN);
  const heldAs = (its: Readonly<Record<string, Value>>, users?: readonly string[]) =>
    heldBy({
      reconciler: 'ansible-pull',
      manifests,
      settings: its,
      target: users ? { grants: { ...NOTHING, users } } : {},
    });

  test.each([
    ['by default', {}],
    ['by name', { user: 'root' }],
    ['by an empty name', { user: '' }],
    ['by number', { user: 0 }],
    ['by number as text', { user: '0' }],
    ['by ownUser: false', { ownUser: false }],
    ['by an empty ownUser', { ownUser: {} }],
    ['as another user', { user: 'deploy' }],
  ] as const)('N19: root is refused without a grant: %s', (_, its) => {
    expect(heldAs(its)).toMatchObject([{ code: 'OUT_OF_BOUNDS' }]);
  });

  it('is the user of ansible-user, or one that the Workspace grants', () => {
    expect(heldAs({ ownUser: true })).toEqual([]);
    expect(heldAs({}, ['root'])).toEqual([]);
    expect(heldAs({ user: 'deploy' }, ['deploy'])).toEqual([]);
    expect(heldAs({ user: 'deploy' }, ['root'])).toMatchObject([{ code: 'OUT_OF_BOUNDS' }]);
  });

  it('is refused in one message with the remedy', () => {
    expect(heldAs({})[0]).toMatchObject({
      subject: 'shop-web',
      at: { file: 'apps/shop/web.yaml' },
      message:
        'ansible-pull would run the playbook of shop-web as root on the host, and the Workspace sales does not grant that',
      hint: 'Let the platform set reconciler: {ownUser: true}, so that it runs as dev-shop-web, or grant it in the Workspace sales: host: {users: [root]}',
    });
  });
});
