import { expect, test } from 'vitest';
import { loadPackage } from '../../../agent/apply/load-package.ts';
import type { Target } from '../../../agent/model/target.ts';
import type { PackageRef } from '../../../agent/store/applied/package-ref.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { createSite, pack } from './kubernetes/kubernetes-site.ts';

const nothing = { kind: 'kubernetes' } as Target;
const signal = new AbortController().signal;

test('loadPackage reads the shared layer of a Kubernetes bundle once for all its packages', async () => {
  await using site = await createSite(nothing);
  const ids = Array.from({ length: 20 }, (_, index) => `p-${index}`);
  await site.want(ids.map((id) => pack(id, `kind: ${id}\n`)));
  const { state, identity } = site.agent;
  let opened = 0;
  const counting = {
    ...state,
    blobs: {
      ...state.blobs,
      open: (...args: Parameters<typeof state.blobs.open>) => {
        opened += 1;
        return state.blobs.open(...args);
      },
    },
  };
  for (const id of ids) {
    const ref = findPackage(state, id)?.desired as PackageRef;
    const { files } = await loadPackage(counting, identity.agent, ref, signal);
    expect([...files.keys()].toSorted()).toEqual(['app.yaml', 'kustomization.yaml']);
    expect(files.get('app.yaml')?.toString()).toBe(`kind: ${id}\n`);
  }
  // Layer, manifest and config.
  expect(opened).toBe(3);
});

test("loadPackage refuses a package with another digest than the bundle's, also from a cached layer", async () => {
  await using site = await createSite(nothing);
  await site.want([pack('one', 'kind: A\n'), pack('two', 'kind: B\n')]);
  const { state, identity } = site.agent;
  const refOf = (id: string) => findPackage(state, id)?.desired as PackageRef;
  await loadPackage(state, identity.agent, refOf('one'), signal);
  const wrong = { ...refOf('two'), package: refOf('one').package };
  await expect(loadPackage(state, identity.agent, wrong, signal)).rejects.toMatchObject({
    code: 'DIGEST_MISMATCH',
  });
});
