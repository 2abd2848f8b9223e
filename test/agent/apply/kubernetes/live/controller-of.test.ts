import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import {
  controllerOf,
  describeController,
} from '../../../../../agent/apply/kubernetes/live/controller-of.ts';

const TRACKING = 'argocd.argoproj.io/tracking-id';
const INSTANCE = 'argocd.argoproj.io/instance';

const live = (metadata: Partial<LiveObject['metadata']>): LiveObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', ...metadata },
});

const named = (metadata: Partial<LiveObject['metadata']>): string | undefined => {
  const found = controllerOf(live(metadata));
  return found && describeController(found);
};

describe('the marks of Argo CD', () => {
  it('are its annotation where that names the object, and its label', () => {
    expect(named({ annotations: { [TRACKING]: 'front:apps/Deployment:shop/web' } })).toBe(
      `Argo CD (${TRACKING}: front)`,
    );
    expect(named({ labels: { [INSTANCE]: 'front' } })).toBe(`Argo CD (${INSTANCE}: front)`);
  });

  it.each([
    'front:apps/Deployment:shop/other',
    'front:apps/Deployment:else/web',
    'front:/Service:shop/web',
    'x',
  ])('are not an annotation that was copied from another object: %s', (id) =>
    expect(named({ annotations: { [TRACKING]: id } })).toBeUndefined(),
  );

  it('are the label of charts only where Argo CD wrote the object', () => {
    const labels = { 'app.kubernetes.io/instance': 'front' };
    expect(named({ labels })).toBeUndefined();
    expect(named({ labels, managedFields: [{ manager: 'argocd-controller', operation: 'Apply' }] })).toBe(
      'Argo CD (app.kubernetes.io/instance: front)',
    );
  });

  it('name the Application, with its namespace where that is not the one of Argo CD', () => {
    const of = (app: string) => controllerOf(live({ labels: { [INSTANCE]: app } }))?.source;
    expect(of('front')).toMatchObject({ kind: 'Application', name: 'front', namespace: undefined });
    expect(of('team_front')).toMatchObject({ name: 'front', namespace: 'team' });
  });
});
