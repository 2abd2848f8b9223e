import { describe, expect, it } from 'vitest';
import { ranksOf } from '../../../../../agent/apply/kubernetes/desired/ranks-of.ts';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';

type Given = readonly [kind: string, name: string, annotations?: Readonly<Record<string, string>>];

const ranks = (...given: readonly Given[]): Readonly<Record<string, number>> => {
  const objects = given.map(([kind, name, annotations = {}]) => ({
    key: `/${kind}/ns/${name}`,
    group: '',
    apiVersion: 'v1',
    kind,
    name,
    place: 'app.yaml',
    policy: policyOf(annotations),
  }));
  return Object.fromEntries([...ranksOf(objects)].map(([key, rank]) => [key.split('/').at(-1), rank]));
};

const wave = (text: string) => ({ 'fleet-ferry/wave': text });
const needs = (...names: readonly string[]) => ({
  'fleet-ferry/depends-on': names.map((name) => `/namespaces/ns/ConfigMap/${name}`).join(', '),
});

describe('the ranks of objects', () => {
  it('are absent without an order of an object, so that nothing is waited for', () => {
    expect(ranks(['ConfigMap', 'a'], ['Namespace', 'b'])).toEqual({});
  });

  it('follow the phase, then the wave as a number, then the dependencies, without gaps', () => {
    expect(
      ranks(
        ['ConfigMap', 'late', wave('10')],
        ['ConfigMap', 'early', wave('-5')],
        ['ConfigMap', 'middle'],
        ['ConfigMap', 'needing', needs('middle')],
        ['ConfigMap', 'last', needs('needing', 'middle')],
        ['Job', 'before', { 'fleet-ferry/hook': 'before', 'fleet-ferry/wave': '99' }],
        ['Job', 'failed', { 'fleet-ferry/hook': 'failed', 'fleet-ferry/wave': '-99' }],
        ['Job', 'after', { 'fleet-ferry/hook': 'after' }],
        ['Namespace', 'ns'],
      ),
    ).toEqual({ ns: 0, before: 1, early: 2, middle: 3, needing: 4, last: 5, late: 6, after: 7, failed: 8 });
  });

  it.each([
    [{ 'argocd.argoproj.io/sync-wave': '2' }, 2],
    [{ 'argocd.argoproj.io/sync-wave': '2', 'fleet-ferry/wave': '0' }, 0],
    [{ 'argocd.argoproj.io/hook': 'PreSync' }, -1],
    [{ 'argocd.argoproj.io/hook': 'PostSync' }, 2],
    [{ 'argocd.argoproj.io/hook': 'SyncFail' }, 2],
    [{ 'helm.sh/hook': 'pre-delete, post-install', 'helm.sh/hook-weight': '-3' }, 2],
    [{ 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-weight': '5' }, -1],
    [{ 'helm.sh/hook': 'test' }, 0],
    [{ 'config.kubernetes.io/depends-on': '/namespaces/ns/ConfigMap/zero' }, 0.5],
  ])('read %o of charts', (annotations, at) => {
    const found = ranks(['ConfigMap', 'zero'], ['ConfigMap', 'one', wave('1')], ['Job', 'it', annotations]);
    const places = { zero: 0, one: 1, it: at };
    const order = Object.entries(places).map(([name, place]) => [found[name], place]);
    for (const [rank = 0, place = 0] of order)
      for (const [otherRank = 0, otherPlace = 0] of order)
        expect(Math.sign(rank - otherRank)).toBe(Math.sign(place - otherPlace));
  });

  it('name the objects of a circle in its order', () => {
    const circle = () =>
      ranks(['ConfigMap', 'a', needs('b')], ['ConfigMap', 'b', needs('c')], ['ConfigMap', 'c', needs('a')]);
    expect(circle).toThrow('depends on itself: ConfigMap a -> ConfigMap b -> ConfigMap c -> ConfigMap a');
  });

  it('follow a chain of thousands of objects, and name the beginning of a circle of as many', () => {
    const chain = (last: readonly string[]): readonly Given[] =>
      Array.from({ length: 20_000 }, (_, index): Given => {
        const others = index < 19_999 ? [`m${index + 1}`] : last;
        return ['ConfigMap', `m${index}`, others.length > 0 ? needs(...others) : {}];
      });
    expect(ranks(...chain([]))).toMatchObject({ m0: 19_999, m19999: 0 });
    expect(() => ranks(...chain(['m0']))).toThrow(
      /^ConfigMap m0 depends on itself: .{1,500} \(19981 more\)$/,
    );
  });

  it.each([
    [
      { ...needs('gone') },
      'depends on "/namespaces/ns/ConfigMap/gone", which is not an object of the package',
    ],
    [{ ...wave('soon') }, 'has the wave "soon", which is not a whole number'],
    [{ ...wave('1.5') }, 'has the wave "1.5"'],
    [{ ...needs('later') }, 'depends on ConfigMap later, which comes in a later phase or wave'],
  ])('refuse %o', (annotations, message) => {
    expect(() => ranks(['ConfigMap', 'later', wave('7')], ['ConfigMap', 'a', annotations])).toThrow(message);
  });
});
