import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { applyYaml } from '../../../harness/flux/apply-definitions.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../../scheduler/file-tree.ts';
import { shopByFlux } from '../../../scheduler/fleet-platform.ts';
import { type FluxWorld, makeFleet, PATIENCE, releaseTo, removeFluxObjects } from './flux-world.ts';

const PASSWORD = 'hunter2-and-nobody-else';

/** A Secret that SOPS encrypted is in the cluster, decrypted, in the namespace that its bundle gives it. @param sops parts.sops */
export const expectDecrypted = async (world: FluxWorld, sops: string): Promise<void> => {
  const { cluster, registry } = world;
  await using folder = await temporaryDirectory('flux-sops');
  const at = (name: string): string => join(folder.path, name);
  const { identity, recipient } = await generateAgeIdentity();
  await writeFiles(
    folder.path,
    shopByFlux('halden', ['secret'], {
      registry: `${registry.host}/sops`,
      plainHttp: true,
      interval: '1s',
      sopsSecret: 'site-age',
    }),
  );
  const plain = `apiVersion: v1\nkind: Secret\nmetadata:\n    name: db\nstringData:\n    password: ${PASSWORD}\n`;
  await writeFile(at('db.yaml'), plain);
  const words = ['encrypt', '--age', recipient, '--encrypted-regex', '^(data|stringData)$', at('db.yaml')];
  const { stdout: encrypted } = await runOrFail([sops, '--disable-version-check', ...words]);
  await writeFiles(folder.path, { 'apps/shop/manifests/db.yaml': encrypted });
  await makeFleet(folder.path);
  await releaseTo(folder.path, registry, 'sops');
  await applyYaml(
    cluster,
    `apiVersion: v1
kind: Secret
metadata: {name: site-age, namespace: flux-system}
stringData: {age.agekey: ${identity}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: fleet, namespace: flux-system}
spec:
  interval: 1s
  url: oci://${registry.host}/sops/secret/edge
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
  const secret = () => world.field('/api/v1/namespaces/secret-edge-shop-web/secrets/db', 'data', 'password');
  await expect.poll(secret, PATIENCE).toBe(Buffer.from(PASSWORD).toString('base64'));
  await removeFluxObjects(world);
};
