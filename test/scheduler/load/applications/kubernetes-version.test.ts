import { expect, it } from 'vitest';
import { kubernetesVersion } from '../../../../scheduler/load/applications/load-applications.ts';

it.each([
  [undefined, 'v1.30.0'],
  ['>=1.31', 'v1.31.0'],
  ['1.29.4', 'v1.29.4'],
  ['^v1.33', 'v1.33.0'],
])('charts for a cluster type with Kubernetes %s are rendered for version %s', (kubernetes, version) => {
  const requirements = kubernetes === undefined ? {} : { kubernetes };
  expect(kubernetesVersion({ requirements } as never)).toBe(version);
});
