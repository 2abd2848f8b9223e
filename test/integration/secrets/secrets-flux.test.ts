import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { build } from '../../../scheduler/release/build.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { shopByFlux } from '../../scheduler/fleet-platform.ts';
import { programFile } from '../../harness/run/program-file.ts';

const SCHEDULER = programFile('scheduler');
const PATIENCE = { timeout: 100_000, interval: 200 };
const PASSWORD = 'hunter2-and-nobody-else';

describeWith(
  ['kube', 'kwok', 'flux', 'dockerRegistry', 'sops'],
  'stock Flux, and Secrets that SOPS encrypted',
  ({ kube, kwok, flux, dockerRegistry, sops }) => {
    it('decrypts what a bundle carries, in the namespace that the bundle gives it', async () => {
      await using stack = new AsyncDisposableStack();
      const folder = stack.use(await temporaryDirectory('flux-sops'));
      const registry = stack.use(await startRegistry(dockerRegistry));
      const cluster = stack.use(await startOwnCluster({ kube, kwok, nodes: 1 }));
      stack.use(await startFlux(flux, cluster));
      const at = (name: string): string => join(folder.path, name);
      const { identity, recipient } = await generateAgeIdentity();

      await writeFiles(
        folder.path,
        shopByFlux('halden', ['prod'], {
          registry: `${registry.host}/fleet`,
          plainHttp: true,
          interval: '1s',
          sopsSecret: 'site-age',
        }),
      );
      const plain = `apiVersion: v1\nkind: Secret\nmetadata:\n    name: db\nstringData:\n    password: ${PASSWORD}\n`;
      await writeFile(at('db.yaml'), plain);
      const words = [
        'encrypt',
        '--age',
        recipient,
        '--encrypted-regex',
        '^(data|stringData)$',
        at('db.yaml'),
      ];
      const { stdout: encrypted } = await runOrFail([sops, '--disable-version-check', ...words]);
      await writeFiles(folder.path, { 'apps/shop/manifests/db.yaml': encrypted });

      await initDevRoot(at('keys'), 'halden', new Date());
      const outcome = await build({
        platform: at('platform'),
        maps: [],
        cacheDirectory: at('cache'),
        layout: at('releases'),
        keys: await openKeyDirectory(at('keys')),
        now: new Date(),
        signal: new AbortController().signal,
      });
      expect(outcome.channels.flatMap(({ held }) => held)).toEqual([]);
      const publish = ['publish', `oci://${registry.host}/fleet`, '--layout', at('releases')];
      await runOrFail([process.execPath, SCHEDULER, ...publish]);

      await applyYaml(
        cluster,
        `apiVersion: v1\nkind: Secret\nmetadata: {name: site-age, namespace: flux-system}\nstringData: {age.agekey: ${identity}}\n`,
      );
      await applyYaml(
        cluster,
        `apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: fleet, namespace: flux-system}
spec:
  interval: 1s
  url: oci://${registry.host}/fleet/prod/edge
  ref: {tag: bundle}
  insecure: true
  layerSelector: {mediaType: application/vnd.oci.image.layer.v1.tar+gzip, operation: extract}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, retryInterval: 1s, path: ./, prune: true, sourceRef: {kind: OCIRepository, name: fleet}}
`,
      );
      const secret = async (): Promise<string> => {
        const path = 'jsonpath={.data.password}';
        const got = await cluster.kubectl(['get', 'secret', 'db', '-n', 'prod-edge-shop-web', '-o', path]);
        return Buffer.from(got.stdout, 'base64').toString();
      };
      await expect.poll(secret, PATIENCE).toBe(PASSWORD);
    }, 600_000);
  },
);
