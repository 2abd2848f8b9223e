import { expect } from 'vitest';
import type { Value } from '../../../../scheduler/model/model.ts';
import { RECONCILERS, renderBuiltIn } from './render-template.ts';

/** What a built-in reconciler writes with every setting it knows, or with none but what it needs. */
export const reconciler = (
  name: string,
  settings: 'all' | 'needed' = 'all',
  config: Record<string, Value> = {},
): string => {
  const wanted = RECONCILERS[name];
  const { registry } = wanted?.settings ?? {};
  const own: Record<string, Value> = registry ? { registry } : {};
  const { files, held } = renderBuiltIn({
    clusterType: { reconciler: name },
    target: { manifests: wanted?.manifests ?? {} },
    config: {
      ...config,
      reconciler: settings === 'all' ? (wanted?.settings ?? {}) : own,
    },
  });
  expect(held).toEqual([]);
  return files['reconciler.yaml'] ?? '';
};
