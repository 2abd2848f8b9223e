import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lookAtAdoptions } from '../../../agent/apply/look-at-adoptions.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { gitKustomization } from '../../harness/flux/git-kustomization.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ALWAYS, KEPT, objects, openWalk, type Walk } from './takeovers/walk.ts';

const PATIENCE = { timeout: 120_000, interval: 500 };

describeWith(['kube', 'kwok', 'helm', 'flux'], 'the walk from another tool', (paths) => {
  let cluster: OwnCluster;
  let folder: TemporaryDirectory;
  let walk: Walk;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('takeover-walks'));
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
    stack.use(await startFlux(paths.flux, cluster));
    walk = openWalk(cluster, folder.path);
  }, 300_000);
  afterAll(() => stack.disposeAsync());

  it('Helm: from its release to a package without a restart, and from a package back to it', async () => {
    const namespace = 'walk-helm';
    const chart = join(folder.path, 'chart');
    await writeFiles(chart, {
      'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
      'templates/all.yaml': objects(namespace, ['a', 'b']),
    });
    const helm = async (...words: readonly string[]): Promise<string> =>
      (await runOrFail([paths.helm, ...words, '--namespace', namespace, '--kubeconfig', cluster.kubeconfig]))
        .stdout;
    await helm('install', 'shop', chart, '--create-namespace');
    await expect.poll(() => walk.podsIn(namespace), PATIENCE).toHaveLength(2);
    const pods = await walk.podsIn(namespace);
    await using site = await walk.newSite();
    expect(await site.release([pack('shop', objects(namespace, ['a', 'b']))])).toMatchObject([
      {
        code: 'PATH_CLAIMED',
        message: expect.stringContaining('belongs to Helm (meta.helm.sh/release-name: shop)'),
      },
    ]);
    const [listed] = await lookAtAdoptions(site.agent);
    expect(listed?.adoptions.map(({ verdict, changes, removes }) => ({ verdict, changes, removes }))).toEqual(
      [
        { verdict: 'refused', changes: [], removes: [] },
        { verdict: 'refused', changes: [], removes: [] },
      ],
    );
    expect(await site.release([pack('shop', objects(namespace, ['a', 'b'], ALWAYS))])).toMatchObject([
      { outcome: 'created' },
    ]);
    expect(await walk.podsIn(namespace)).toEqual(pods);
    expect(await walk.marksIn(namespace)).not.toMatch(/helm/i);
    // The record of the release goes, and with it all that Helm knows.
    await cluster.kubectl(['delete', 'secret', '-n', namespace, '-l', 'owner=helm,name=shop']);
    expect(await helm('list', '--short')).toBe('');
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    await site.release([pack('shop', objects(namespace, ['a'], ALWAYS))]);
    expect(await walk.keysIn(namespace)).toEqual(['a']);
    // Back: the objects are Helm's again, as they were.
    await site.release([]);
    expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
    await helm('upgrade', '--install', 'shop', chart);
    expect(await helm('list', '--short')).toContain('shop');
    // With the record left, an uninstall deletes objects that are not Helm's any more: the agent makes them again.
    await site.release([pack('shop', objects(namespace, ['a'], ALWAYS))]);
    await helm('uninstall', 'shop');
    await observe(site.agent);
    await expect.poll(() => walk.keysIn(namespace), PATIENCE).toEqual(['a']);
  }, 300_000);

  it('Flux: a Kustomization that is suspended and deleted leaves its objects, and takes them back without a residue', async () => {
    const namespace = 'walk-flux';
    const tree = join(folder.path, 'tree');
    await writeFiles(tree, {
      'namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n`,
      'all.yaml': objects(namespace, ['a', 'b']),
    });
    const served = join(folder.path, 'served');
    await makeGitRepository(join(served, 'tree.git'), { main: tree });
    await using server = await startGitServer(served);
    const kustomization = gitKustomization('walk', {
      url: `${server.url}/tree.git`,
      branch: 'main',
      applies: 'interval: 2s, force: true',
    });
    await applyYaml(cluster, kustomization);
    await expect.poll(() => walk.podsIn(namespace), PATIENCE).toHaveLength(2);
    const pods = await walk.podsIn(namespace);
    await using site = await walk.newSite();
    expect(await site.release([pack('web', objects(namespace, ['a', 'b'], KEPT))])).toMatchObject([
      {
        code: 'PATH_CLAIMED',
        message: expect.stringContaining('belongs to Flux (kustomize.toolkit.fluxcd.io/name: walk)'),
      },
    ]);
    const flux = ['-n', 'flux-system', 'kustomizations.kustomize.toolkit.fluxcd.io/walk'];
    await cluster.kubectl(['patch', ...flux, '--type=merge', '-p', '{"spec":{"suspend":true}}']);
    await cluster.kubectl(['delete', ...flux, '--wait=true']);
    expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
    // Nobody's now: the next look takes them over without an annotation.
    expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'created' }]);
    expect(await walk.podsIn(namespace)).toEqual(pods);
    expect(await walk.marksIn(namespace)).not.toMatch(/kustomize/);
    await site.release([pack('web', objects(namespace, ['a', 'c'], KEPT))]);
    expect(await walk.keysIn(namespace)).toEqual(['a', 'c']);
    // Back: the package goes without a deletion, and Flux removes what only the package had.
    await site.release([]);
    expect(await walk.marksIn(namespace)).not.toMatch(/fleet-ferry\/assignment|"fleet-agent"/);
    await applyYaml(cluster, kustomization);
    await expect.poll(() => walk.keysIn(namespace), PATIENCE).toEqual(['a', 'b']);
    await cluster.kubectl(['delete', ...flux, '--wait=true']);
  }, 300_000);
});

describeWith(['kube', 'kwok', 'kapp'], 'the walk from kapp', (paths) => {
  it('from its app to a package, without the app, and from a package back to it', async () => {
    await using folder = await temporaryDirectory('takeover-kapp');
    await using cluster = await startOwnCluster({ ...paths, nodes: 1 });
    const walk = openWalk(cluster, folder.path);
    const namespace = 'walk-kapp';
    await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    const file = join(folder.path, 'all.yaml');
    await writeFile(file, objects(namespace, ['a', 'b']));
    const kapp = async (verb: string, ...words: readonly string[]): Promise<string> => {
      const about = ['--app=shop', `--namespace=${namespace}`, `--kubeconfig=${cluster.kubeconfig}`, '--yes'];
      return (await runOrFail([join(paths.kapp, 'kapp'), verb, ...about, ...words])).stdout;
    };
    await kapp('deploy', `--file=${file}`);
    const pods = await walk.podsIn(namespace);
    expect(pods).toHaveLength(2);
    await using site = await walk.newSite();
    expect(await site.release([pack('shop', objects(namespace, ['a', 'b']))])).toMatchObject([
      { code: 'PATH_CLAIMED', message: expect.stringContaining('belongs to kapp') },
    ]);
    const [listed] = await lookAtAdoptions(site.agent);
    expect(listed?.adoptions.map(({ verdict, removes }) => [verdict, removes])).toEqual([
      ['refused', []],
      ['refused', [ASSOCIATION]],
    ]);
    expect(await site.release([pack('shop', objects(namespace, ['a', 'b'], ALWAYS))])).toMatchObject([
      { outcome: 'created' },
    ]);
    expect(await walk.marksIn(namespace)).not.toMatch(/kapp/);
    await site.release([pack('shop', objects(namespace, ['a'], ALWAYS))]);
    expect(await walk.keysIn(namespace)).toEqual(['a']);
    // Back: the objects are kapp's again, as they were, while it has the record of the app.
    await site.release([]);
    expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
    expect(await walk.marksIn(namespace)).toMatch(/kapp.k14s.io\/app/);
    await kapp('deploy', `--file=${file}`);
    await kapp('delete');
    expect(await walk.keysIn(namespace)).toEqual([]);
  }, 300_000);
});

/** A label that kapp writes into pods: it leaves them at the takeover, and they start again. */
const ASSOCIATION = 'spec.template.metadata.labels.kapp.k14s.io/association';
