import { describe, expect, it } from 'vitest';
import { observe } from '../../../../agent/observe/observe.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { type KubernetesSite, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { deployment, map, UNWATCHED, yaml } from './objects.ts';
import { type CompareWorld, mapOf, webOf } from './world.ts';

/** Rules of authors for single objects. */
export const rulesOnCluster = ({
  newSite,
  ask,
  at,
  newNamespace,
  kubectl,
  driftOf,
  right,
}: CompareWorld): void => {
  const edit = (url: string, body: object, manager = 'controller'): Promise<unknown> =>
    ask('PATCH', `${url}?fieldManager=${manager}`, body);
  const withAnnotations = (
    object: Record<string, unknown>,
    annotations: object,
  ): Record<string, unknown> => ({
    ...object,
    metadata: { ...(object['metadata'] as object), annotations: { ...UNWATCHED, ...annotations } },
  });

  describe('ignored fields (checklist S6)', () => {
    const LEFT = { 'fleet-ferry/ignore': '/spec/replicas,/spec/template/spec/containers/0/image' };
    const web = (ns: string, replicas: number, image: string, more = {}) =>
      withAnnotations(deployment(ns, { replicas }, { image, ...more }), LEFT);

    it('keep the values of others, without drift and without a write', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, web(ns, 1, 'one'));
      await edit(webOf(ns), { spec: { replicas: 3 } });
      const written = () => at(webOf(ns), 'metadata.generation');
      const before = await written();
      await observe(site.agent);
      expect(await driftOf(site)).toEqual([]);
      await right(site, web(ns, 1, 'one'));
      expect(await written()).toBe(before);
      expect(site.agent.state.db.prepare('SELECT count(*) FROM operation').pluck().get()).toBe(1);
      expect(await at(webOf(ns), 'spec.replicas')).toBe(3);
    });

    it('do not jump when the release changes them, or another field', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, web(ns, 1, 'one'));
      await edit(webOf(ns), { spec: { replicas: 3 } });
      await right(site, web(ns, 2, 'two', { env: [{ name: 'A', value: '1' }] }));
      expect(await at(webOf(ns), 'spec.replicas')).toBe(3);
      expect(await at(webOf(ns), 'spec.template.spec.containers.0.image')).toBe('one');
      expect(await at(webOf(ns), 'spec.template.spec.containers.0.env')).toEqual([{ name: 'A', value: '1' }]);
      // Other fields are corrected as always.
      await edit(
        webOf(ns),
        { spec: { template: { spec: { containers: [{ name: 'a', image: 'one' }] } } } },
        'x',
      );
      await observe(site.agent);
      expect(await at(webOf(ns), 'spec.replicas')).toBe(3);
      expect(await at(webOf(ns), 'spec.template.spec.containers.0.env')).toEqual([{ name: 'A', value: '1' }]);
    });

    it('may be those of a manager', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const object = (a: string) =>
        map(ns, 'm', { a, b: '1' }, { annotations: { 'fleet-ferry/ignore-managers': 'tuner' } });
      await right(site, object('1'));
      await edit(mapOf(ns, 'm'), { data: { a: 'tuned' } }, 'tuner');
      expect(await driftOf(site)).toEqual([]);
      await right(site, object('2'));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'tuned', b: '1' });
      await edit(mapOf(ns, 'm'), { data: { b: 'edited' } }, 'somebody');
      await observe(site.agent);
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'tuned', b: '1' });
    });
  });

  describe('the drift rule of an object (checklist D2)', () => {
    const object = (ns: string, name: string, drift: string, a = '1') =>
      map(ns, name, { a }, { annotations: { 'fleet-ferry/drift': drift } });

    it('report leaves a difference until the next release, also while others are corrected', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, object(ns, 'left', 'report'), map(ns, 'kept', { a: '1' }));
      await edit(mapOf(ns, 'left'), { data: { a: 'edited' } });
      await edit(mapOf(ns, 'kept'), { data: { a: 'edited' } });
      expect(await driftOf(site)).toMatchObject([{ key: `/ConfigMap/${ns}/kept` }, { stays: true }]);
      await observe(site.agent);
      expect(await at(mapOf(ns, 'left'), 'data')).toEqual({ a: 'edited' });
      expect(await at(mapOf(ns, 'kept'), 'data')).toEqual({ a: '1' });
      expect(await driftOf(site)).toMatchObject([{ key: `/ConfigMap/${ns}/left`, stays: true }]);
      await right(site, object(ns, 'left', 'report', '2'), map(ns, 'kept', { a: '1' }));
      expect(await at(mapOf(ns, 'left'), 'data')).toEqual({ a: '2' });
    });

    it('ignore does not look for one', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, object(ns, 'm', 'ignore'));
      await edit(mapOf(ns, 'm'), { data: { a: 'edited' } });
      expect(await driftOf(site)).toEqual([]);
      await observe(site.agent);
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'edited' });
    });
  });

  it('without force a conflict names manager and field, and the other objects are applied (checklist S5)', async () => {
    const ns = await newNamespace();
    const own = map(ns, 'm', { a: 'theirs' });
    await kubectl(['apply', '--server-side', '--field-manager=house', '-f', '-'], yaml(own));
    await using site = await newSite();
    const ours = map(ns, 'm', { a: 'ours' }, { annotations: { 'fleet-ferry/conflicts': 'report' } });
    await right(site, ours, map(ns, 'other', { a: '1' }));
    expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'theirs' });
    expect(await at(mapOf(ns, 'other'), 'data')).toEqual({ a: '1' });
    const drift = await driftOf(site);
    expect(drift).toMatchObject([{ key: `/ConfigMap/${ns}/m`, what: 'conflict', stays: true }]);
    expect(drift[0]?.message).toContain('conflict with "house" at .data.a');
    await observe(site.agent);
    expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'theirs' });
    // The other one gives up; nothing of it is lost when the package goes without having written it.
    await site.release([]);
    expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'theirs' });
  });

  it('an object of a conflict is copied before it is taken over later, and put back with the package', async () => {
    const ns = await newNamespace();
    const apply = (data: object) =>
      kubectl(
        ['apply', '--server-side', '--field-manager=house', '-f', '-'],
        yaml(map(ns, 'm', { ...data })),
      );
    await apply({ a: 'theirs' });
    await using site = await newSite();
    const ours = (b: string) =>
      map(ns, 'm', { a: 'ours', b }, { annotations: { 'fleet-ferry/conflicts': 'report' } });
    await right(site, ours('1'));
    await apply({ c: 'theirs' });
    await right(site, ours('2'));
    expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: 'ours', b: '2', c: 'theirs' });
    await site.release([]);
    expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ c: 'theirs' });
  });

  /** Another controller changes the ConfigMap m, and the agent looks at it. @returns the value after that */
  const fightOver = async (site: KubernetesSite, ns: string): Promise<unknown> => {
    await edit(mapOf(ns, 'm'), { data: { a: 'fought' } }, 'other-controller');
    await observe(site.agent);
    return at(mapOf(ns, 'm'), 'data.a');
  };

  it('a fight is named and backs off after five corrections (checklist D5)', async () => {
    const ns = await newNamespace();
    await using site = await newSite();
    await site.release([pack('app', yaml(map(ns, 'm', { a: '1' })))]);
    const fight = () => fightOver(site, ns);
    for (let round = 0; round < 6; round++) expect(await fight(), String(round)).toBe('1');
    expect(await fight()).toBe('fought');
    const [drift] = findPackage(site.agent.state, 'app')?.drift?.items ?? [];
    expect(drift?.message).toContain('last written by other-controller');
    expect(drift?.message).toContain('the agent has corrected it 6 times, and somebody changes it back');
  });

  it('a fight over one object does not delay the correction of another one of its package', async () => {
    const ns = await newNamespace();
    await using site = await newSite();
    await site.release([pack('app', yaml(map(ns, 'm', { a: '1' }), map(ns, 'other', { a: '1' })))]);
    const fight = () => fightOver(site, ns);
    for (let round = 0; round < 6; round++) await fight();
    expect(await fight()).toBe('fought');
    await ask('DELETE', mapOf(ns, 'other'));
    await observe(site.agent);
    expect(await at(mapOf(ns, 'other'), 'data')).toEqual({ a: '1' });
    expect(await fight()).toBe('fought');
  });
};
