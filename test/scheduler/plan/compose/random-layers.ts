import * as fc from 'fast-check';
import { labelCount } from '../../../../scheduler/model/label-count.ts';
import type { ConfigValue, Labels, SiteLayer, Value } from '../../../../scheduler/model/model.ts';
import type { Taker } from '../../../../scheduler/plan/compose/compose-site.ts';

export const TYPE = { name: 'press', labels: { kind: 'host' } };

export const taker = (name: string, labels: Labels, names: readonly string[] = []): Taker => ({
  target: { name, workload: name.replace(/-.*/, ''), labels },
  takes: (one) => names.length === 0 || names.includes(one),
});

export const layer = (
  name: string,
  siteSelector: Labels,
  values: { readonly [key: string]: Value },
  more: Partial<SiteLayer> = {},
): SiteLayer => ({
  name,
  selector: {},
  siteSelector,
  fixed: false,
  values,
  places: Object.fromEntries(
    Object.keys(values).map((key, index) => [
      key,
      { file: `base/${name}.yaml`, line: 10 + index, column: 5 },
    ]),
  ),
  from: 'base',
  path: `base/${name}.yaml`,
  at: { file: `base/${name}.yaml`, line: 1, column: 1 },
  ...more,
});

export const inOrder = (layers: readonly SiteLayer[]): readonly SiteLayer[] =>
  layers.toSorted(
    (a, b) =>
      Number(a.from === 'environment') - Number(b.from === 'environment') ||
      labelCount(a) - labelCount(b) ||
      (a.name < b.name ? -1 : 1),
  );

export const KEYS = ['k0', 'k1', 'k2', 'k3'];
export const labels = fc.dictionary(fc.constantFrom('region', 'country', 'line'), fc.constantFrom('a', 'b'), {
  maxKeys: 3,
});
export const values = fc.dictionary(
  fc.constantFrom(...KEYS),
  fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('x', 'y'),
    fc.dictionary(fc.constantFrom('p', 'q'), fc.integer({ min: 0, max: 2 }), { minKeys: 1, maxKeys: 2 }),
  ),
  { minKeys: 1, maxKeys: 3 },
);
export const randomLayers = fc.array(
  fc.record({
    siteSelector: fc.oneof(labels, fc.constantFrom<Labels>({ site: 'plant-7' }, { agent: 'edge-1' }, {})),
    selector: fc.constantFrom<Labels>({}, { kind: 'host' }, { kind: 'x' }, { app: 'a' }, { workload: 'b' }),
    values,
    from: fc.constantFrom('base' as const, 'environment' as const),
    fixed: fc.boolean(),
  }),
  { maxLength: 6 },
);

const isSelected = (selector: Labels, own: Labels): boolean =>
  Object.entries(selector).every(([key, value]) => (own[key] ?? '') === value);

/** What an agent has by the rules of docs/site-values.md, one value after the other, in the plainest way. */
export const byTheRules = (
  layers: readonly SiteLayer[],
  of: { readonly labels: Labels; readonly target: Taker['target'] },
  people: readonly Readonly<Record<string, Value>>[],
): unknown => {
  const seen = { ...of.labels, site: 'plant-7', agent: 'edge-1' };
  const pair = { ...TYPE.labels, ...of.target.labels, workload: of.target.workload };
  const matching = layers.filter(
    (one) => isSelected(one.siteSelector, seen) && isSelected(one.selector, pair),
  );
  const merged = (fixed: boolean) => {
    const found: Record<string, ConfigValue> = {};
    for (const one of matching.filter((it) => it.fixed === fixed))
      for (const [key, value] of Object.entries(one.values)) {
        const below = found[key];
        const areMappings = [below, value].every((it) => typeof it === 'object' && it !== null);
        found[key] = areMappings ? { ...(below as object), ...(value as object) } : value;
      }
    return found;
  };
  return Object.assign({}, merged(false), ...people, merged(true));
};
